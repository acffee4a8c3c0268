import PowerSyncWire

/// Applies the transactions of a request in their order (backend 1.6).
package struct UploadApplier: Sendable {
    /// What is shared by all transactions.
    package let tools: UploadTools
    /// Whether transactions behind a rejected one are tried in the same request
    /// (`BATCH_ON_FATAL_ERROR=skip`).
    package let continuesAfterFatalError: Bool
    /// Whether the bad operations of a legacy batch are cut out (`LEGACY_BATCH_MODE=isolate`).
    package let isolatesLegacyBatches: Bool

    /// Makes an applier of its parts.
    package init(tools: UploadTools, continuesAfterFatalError: Bool, isolatesLegacyBatches: Bool) {
        self.tools = tools
        self.continuesAfterFatalError = continuesAfterFatalError
        self.isolatesLegacyBatches = isolatesLegacyBatches
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - body: the request.
    ///   - context: who sent it.
    /// - Returns: one result for each transaction.
    /// - Throws: `UploadFailure` where the first transaction failed and may succeed later,
    ///   `CancellationError`.
    package func apply(_ body: UploadBody, context: UploadContext) async throws -> [UploadResult] {
        var results: [UploadResult] = []
        var isStopped = false
        for (index, transaction) in body.request.transactions.enumerated() {
            if isStopped {
                results.append(UploadResult(status: .notAttempted, txID: transaction.id))
                continue
            }
            if transaction.operations.isEmpty {
                results.append(UploadResult(status: .success, txID: transaction.id))
                continue
            }
            var attempt = TransactionAttempt(
                tools: tools, context: context, transaction: transaction, clientID: body.request.clientID,
                payload: body.payloads[index], refusal: body.refusals[index],
                isolates: isolatesLegacyBatches && body.request.dialect == .batch)
            do {
                let result = try await attempt.run()
                isStopped = result.status == .fatalError && !continuesAfterFatalError
                results.append(result)
            } catch let failure as UploadFailure where index > 0 && !failure.isBug {
                // What is committed is said; the rest stays in the client's queue.
                results.append(UploadResult(status: .retryableError, txID: transaction.id))
                isStopped = true
            }
        }
        return results
    }
}
