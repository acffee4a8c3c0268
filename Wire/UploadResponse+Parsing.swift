extension UploadResponse {
    /// Reads the answer of any backend of these dialects; a legacy one without `results` counts as no results.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`.
    package init(json: JSON) throws(WireError) {
        var results: [UploadResult] = []
        for (index, value) in (json["results"]?.arrayValue ?? []).enumerated() {
            guard let status = value["status"]?.stringValue.flatMap(UploadResult.Status.init(rawValue:))
            else {
                throw .field("results/\(index)/status", "a known status")
            }
            var result = UploadResult(status: status, txID: value["tx_id"]?.int64Value)
            result.replayed = value["replayed"]?.boolValue ?? false
            let needsClient = value["requires_client_handling"]?.boolValue
            // Without it nobody knows whether the backend has kept the transaction (backend 1.2).
            guard status != .fatalError || needsClient != nil else {
                throw .field("results/\(index)/requires_client_handling", "true or false")
            }
            result.requiresClientHandling = needsClient ?? false
            result.rejectionID = value["rejection_id"]?.stringValue
            result.retryAfter = value["retry_after_ms"]?.int64Value.map { Duration.milliseconds($0) }
            if let failed = value["failed_operation"] {
                result.failure = UploadResult.Failure(
                    operationIndex: failed["operation_index"]?.int64Value.map { Int($0) },
                    errorCode: failed["error_code"]?.stringValue ?? "UNCLASSIFIED_ERROR",
                    message: failed["message"]?.stringValue ?? "",
                    details: failed["details"]?.objectMembers ?? [])
            }
            result.operations = (value["ops"]?.arrayValue ?? []).compactMap { operation in
                guard let index = operation["i"]?.int64Value, let status = operation["status"]?.stringValue
                else {
                    return nil
                }
                return UploadResult.Operation(
                    index: Int(index), opID: operation["op_id"]?.int64Value, status: status,
                    code: operation["code"]?.stringValue)
            }
            results.append(result)
        }
        self.init(requestID: json["request_id"]?.stringValue ?? "", results: results)
    }
}
