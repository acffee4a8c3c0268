import PowerSyncSyncRules
import PowerSyncWire

/// Runs a plan in memory: each row, then each request with all rows in.
enum LanguageRun {
    /// What rows and requests come to.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - tables: the tables with their rows.
    ///   - requests: the requests.
    /// - Returns: an item for each row in a bucket, each bucket of a request, and each error.
    static func items(
        _ plan: SyncPlan, _ tables: [LanguageWorlds.Table], _ requests: [LanguageRequest]
    ) -> [LanguageItem] {
        let reading = RowReading(plan)
        var items: [LanguageItem] = []
        for table in tables {
            for (number, row) in table.rows.enumerated() {
                let place = LanguageItem.Place.row(table.name, number)
                let result = reading.outputs(of: row, in: table.name)
                items += result.outputs.map { output in
                    LanguageItem.row(
                        place, bucket: output.bucket, table: output.table.text, id: output.id,
                        data: output.data)
                }
                if result.hasFailed { items.append(.failedRow(place)) }
            }
        }
        let lookups = reading.lookups(tables)
        for (number, request) in requests.enumerated() {
            let place = LanguageItem.Place.request(number)
            do throws(RequestError) {
                items += Self.items(try resolution(of: request, by: plan, lookups), place)
            } catch {
                items.append(.refused(place))
            }
        }
        return items
    }

    /// What a request comes to.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - plan: the plan.
    ///   - lookups: the rows of all lookups by their keys.
    /// - Returns: its buckets, and what failed.
    /// - Throws: `RequestError` if it is refused.
    static func resolution(
        of request: LanguageRequest, by plan: SyncPlan, _ lookups: [LookupRead: [[ScalarValue]]]
    ) throws(RequestError) -> Resolution {
        var evaluation = RequestEvaluation(plan, request.body, token: request.token)
        evaluation.begin(changed: nil)
        while true {
            switch try evaluation.next() {
            case .done(let resolution): return resolution
            case .rows(let reads):
                let rows = reads.map { ($0, lookups[$0] ?? []) }
                try evaluation.take(Dictionary(uniqueKeysWithValues: rows))
            }
        }
    }

    private static func items(_ resolution: Resolution, _ place: LanguageItem.Place) -> [LanguageItem] {
        var items: [LanguageItem] = []
        for bucket in resolution.buckets {
            // The recordings are of the evaluator, which keeps all of them.
            let reasons = bucket.allReasons.map(text)
            items.append(.bucket(place, bucket.name, priority: bucket.priority, reasons: reasons))
        }
        for failure in resolution.failures { items.append(.failure(place, failure.message)) }
        return items
    }

    private static func text(_ reason: Resolution.Reason) -> String {
        switch reason {
        case .isDefault: "default"
        case .subscription(let number): String(number)
        }
    }
}
