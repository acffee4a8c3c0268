import PowerSyncPostgres
import PowerSyncWire

/// What is known of each operation of an attempt, and the result that the client gets of it.
struct AttemptAnswer: Sendable {
    private let operations: [UploadOperation]
    private let txID: Int64?
    /// What the ledger says of operations that are not executed again, by their index.
    var known: [Int: LedgerReading.Known] = [:]
    /// What became of each operation in this attempt; nil where nothing did.
    private var states: [UploadResult.Operation?]
    private var rejections: [(failure: UploadResult.Failure, id: String)] = []

    /// Makes the answer to a transaction of which nothing is known.
    init(_ transaction: UploadTransaction) {
        operations = transaction.operations
        txID = transaction.id
        states = Array(repeating: nil, count: operations.count)
    }

    /// Notes that a plan was executed.
    ///
    /// - Parameters:
    ///   - plan: the plan; what it holds no operation for changed nothing.
    ///   - touched: what each of its runs has touched.
    mutating func executed(_ plan: AttemptPlan, touched: [TouchedRows]) {
        for state in UploadStates.states(
            of: operations, plans: plan.operations, runs: plan.runs, touched: touched)
        where known[state.index] == nil && plan.refusals[state.index] == nil {
            states[state.index] = state
        }
    }

    /// Notes that operations are rejected because of one of them.
    ///
    /// - Parameters:
    ///   - refusal: why; without an index all are skipped, because the commit itself failed.
    ///   - indices: which operations.
    ///   - letterID: the entry in the dead letters.
    mutating func reject(_ refusal: Refusal, _ indices: [Int], letterID: String) {
        for index in indices {
            let isCause = index == refusal.index
            states[index] = UploadResult.Operation(
                index: index, opID: operations[index].opID, status: isCause ? "rejected" : "skipped",
                code: isCause ? refusal.code : nil)
        }
        rejections.append((refusal.failure, letterID))
    }

    /// The result of the whole transaction.
    ///
    /// A rejection of now comes first in it: of those of before the client has been told, or will find them in its states.
    var result: UploadResult {
        var result = UploadResult(
            status: .success, txID: txID, replayed: states.allSatisfy { $0 == nil },
            operations: operations.indices.map { states[$0] ?? replayed($0) })
        if let rejection = rejections.first ?? formerRejection {
            result.status = .fatalError
            result.failure = rejection.failure
            result.rejectionID = rejection.id
        }
        return result
    }

    /// The result as the ledger keeps it for a part of the operations.
    func result(of indices: [Int]) -> UploadResult {
        var result = result
        let wanted = Set(indices)
        result.operations.removeAll { !wanted.contains($0.index) }
        return result
    }

    private func replayed(_ index: Int) -> UploadResult.Operation {
        var state = UploadResult.Operation(index: index, opID: operations[index].opID, status: "replayed")
        if case .rejected(let former) = known[index] {
            state.status = former.status
            state.code = former.code
        }
        return state
    }

    private var formerRejection: (failure: UploadResult.Failure, id: String)? {
        for index in operations.indices {
            guard case .rejected(let former) = known[index], let cause = former.cause else { continue }
            var failure = cause.failure
            // The operation that failed then may stand elsewhere in this transaction, or not be in it.
            failure.operationIndex = cause.culprit.flatMap { culprit in
                operations.indices.first { known[$0] != nil && isSame(culprit, $0) }
            }
            return (failure, cause.rejectionID)
        }
        return nil
    }

    private func isSame(_ state: UploadResult.Operation, _ index: Int) -> Bool {
        guard let opID = operations[index].opID else { return state.index == index }
        return state.opID == opID
    }
}
