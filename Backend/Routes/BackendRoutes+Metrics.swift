import PowerSyncWire

/// What requests count for (backend 8.4).
extension BackendRoutes {
    /// What a request without a route is called.
    static let noRoute = "none"

    private static let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    private var metrics: BackendMetrics { applier.tools.metrics }

    /// Counts a request that was answered.
    ///
    /// - Parameters:
    ///   - method: its method, which may be any word.
    ///   - route: its route; nil where there is none.
    ///   - status: that of the answer.
    ///   - refusal: the problem that the answer is.
    ///   - time: how long it took.
    func note(_ method: String, _ route: Route?, _ status: Int, _ refusal: Problem?, _ time: Duration) {
        let name = route?.name ?? Self.noRoute
        let known = Self.methods.contains(method) ? method : BackendMetrics.other
        metrics.count(.requests, [name, known, String(status)])
        metrics.measure(time.inSeconds, of: .requestSeconds, [name])
        if let refusal, [401, 403].contains(refusal.status) { metrics.count(.authFailures, [refusal.code]) }
        switch route {
        case .token:
            metrics.count(.tokens, [status < 400 ? "minted" : status < 500 ? "refused" : "unavailable"])
        case .keys: metrics.count(.keySets)
        default: break
        }
    }

    /// What operations are counted by.
    private struct Work: Hashable {
        let table: ExactText
        let kind: UploadOperationKind
        let status: String
    }

    /// Counts what became of an upload.
    ///
    /// - Parameters:
    ///   - request: the upload.
    ///   - results: what became of each of its transactions.
    ///   - bytes: the length of its body.
    func note(_ request: UploadRequest, _ results: [UploadResult], bytes: Int) async {
        metrics.measure(Double(bytes), of: .bodyBytes)
        // Without a catalog no name of a client is one of a table.
        let tables = try? await applier.tools.catalog.knowledge().tables
        func label(_ table: String) -> String {
            tables?.tables[ExactText(table)] == nil ? BackendMetrics.other : table
        }
        var operations: [Work: Int] = [:]
        for (transaction, result) in zip(request.transactions, results) {
            metrics.count(.transactions, [result.status.rawValue])
            if result.replayed { metrics.count(.replays) }
            // Neighbours mostly are the same work, which is counted together.
            var (last, count): (Work?, Int) = (nil, 0)
            for place in result.operations.indices {
                let index = result.operations[place].index
                guard transaction.operations.indices.contains(index) else { continue }
                let work = Work(
                    table: ExactText(transaction.operations[index].table),
                    kind: transaction.operations[index].kind, status: result.operations[place].status)
                if let last, work != last {
                    operations[last, default: 0] += count
                    count = 0
                }
                last = work
                count += 1
            }
            if let last { operations[last, default: 0] += count }
            guard let failure = result.failure else { continue }
            let failed = failure.operationIndex.flatMap { index in
                transaction.operations.indices.contains(index) ? transaction.operations[index] : nil
            }
            metrics.count(
                .rejections, [failure.errorCode, failed.map { label($0.table) } ?? BackendMetrics.other])
        }
        for (work, count) in operations {
            metrics.count(
                .operations, [label(work.table.text), work.kind.rawValue, work.status], by: count)
        }
    }
}

extension DatabaseVerdict {
    private static let retried: Set = [
        "0A000", "25P03", "26000", "34000", "40001", "40003", "40P01", "42P05", "55P03", "57P01", "57P02",
        "57P03",
    ]

    /// The label of a state after which it is tried again: others by their class, since triggers raise any.
    static func label(of sqlstate: String?) -> String {
        guard let sqlstate else { return "none" }
        if retried.contains(sqlstate) { return sqlstate }
        return ["08", "40", "57"].first { sqlstate.hasPrefix($0) }.map { $0 + "000" } ?? BackendMetrics.other
    }
}
