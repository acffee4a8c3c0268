import Foundation
import PowerSyncBackend
import PowerSyncWire

/// The reader of uploads with every converter of values: the first byte chooses, the third one what is repeated.
///
/// | first byte modulo 4 | the rest |
/// |---|---|
/// | 0 | the body of an upload, planned for a table with every kind of column |
/// | 1 | JSON for one column, which the second byte chooses |
/// | 2, 3 | a text for one column |
struct UploadTarget: FuzzTarget {
    static let words = [
        "{\"batch\":[", "{\"transactions\":[{\"crud\":[",
        "{\"op\":\"PUT\",\"table\":\"t\",\"id\":\"x\",\"data\":{", "PATCH",
        "DELETE", "\"v\":1", "\"client_id\":\"c\"", "\"op_id\":1", "\"tx_id\":1", "null", "true", "1e",
        "1e400", "1e-",
        "-9223372036854775808", "9223372036854775807", "\\u0000", "\\\"", "\\\\x", "{", "}", "[", ",", "\"",
        "NaN", "Infinity",
        "-infinity", "now", "empty", "{NULL}", "2025-12-03T10:20:04.658+02:00", "0044-03-15 BC",
        "9999-12-31 23:59:59Z",
        "24:00:00", "aGk=", "\\\\xDEAD", "0f8fad5b-d9cb-469f-a165-70867728950e", "PT1H", "[1,2)", "\u{FF11}",
    ]

    private(set) var tally = Tally()
    // Tables and kinds are made anew each time: the sanitizer takes an indirect enumeration that a global holds for a leak.
    private let catalog = FuzzedTables.catalog
    private let map: TableMap
    private let columns: [(column: Catalog.Column, options: ValueOptions)]

    init() throws {
        let map = try TableMap(yaml: FuzzedTables.map, source: "map")
        self.map = map
        columns = catalog.tables.values.flatMap(\.columns).sorted { $0.name < $1.name }.map { column in
            let entry = map.tables[0].columns.first { $0.name.text == column.name }
            return (column, entry?.options ?? ValueOptions())
        }
    }

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        var inputs: [[UInt8]] = []
        for step in try Recordings.read(fixtures.appending(path: "backend")).flatMap({ $0.arrayValue ?? [] })
        {
            guard let body = step["body"]?.stringValue else { continue }
            inputs.append([0, 0, 0] + Array(body.replacing("\"lists\"", with: "\"t\"").utf8))
        }
        for body in bodies { inputs.append([0, 0, 255] + Array(body.utf8)) }
        for column in UInt8(0)..<108 {
            for value in values {
                inputs.append([1, column, 0] + Array(value.utf8))
                let text = (try? JSON.parse(value))?.stringValue ?? value  // each is JSON
                inputs.append([2, column, 0] + Array(text.utf8))
            }
            for value in repeated {
                inputs.append([1, column, 240] + Array(value.utf8))
                inputs.append([2, column, 240] + Array(value.utf8))
            }
        }
        return inputs
    }

    private static let bodies = [
        #"{"batch":[{"op":"PATCH","table":"t","id":"x","data":{"a":1,"c":1e2,"e":"1.10","l":{"a":[1]},"is":"[\"a\"]"}}]}"#,
        #"{"v":1,"client_id":"c","transactions":[{"tx_id":1,"crud":[{"op_id":1,"op":"PUT","table":"t","id":"x","data":{"n":"2025-12-03","m":"aGk="}},{"op_id":2,"op":"DELETE","table":"t","id":"x"}]}]}"#,
        "{\"batch\":[{\"op\":\"PUT\",\"table\":\"t\",\"id\":\"x\",\"data\":{\"l\":[\u{0}1e9,\u{0}1]}}]}",
        "{\"batch\":[\u{0}{},\u{0}{}]}",
    ]

    private static let values = [
        "1", "-1.5e3", "\"7\"", "true", "\"t\"", "[1,2]", "\"[1,2]\"", "\"{1,NULL,\\\"3\\\"}\"",
        "{\"a\":[null]}", "\"{}\"",
        "\"2025-12-03T10:20:04.658+02:00\"", "\"0044-03-15 BC\"", "\"10:20:30Z\"", "\"aGk=\"",
        "\"\\\\x6869\"", "\"PT1H\"",
        "\"[1,2)\"", "\"{[1,2),[3,4]}\"", "\"[2025-01-01,)\"", "\"0f8fad5b-d9cb-469f-a165-70867728950e\"",
        "\"{{1},{2}}\"",
        "\"{\\\"[\\\\\\\"2025-01-01\\\\\\\",)\\\"}\"", "\"\"", "null", "1764757204658",
        // The ends of what an integer holds, one of which has no absolute value.
        "1e-9223372036854775807", "1e9223372036854775807", "-9223372036854775807", "\"infinity\"",
    ]

    private static let repeated = [
        "[\u{0}1e399,\u{0}1]", "\"{\u{0}1e399,\u{0}1}\"", "\u{0}[\u{0}", "\"\u{0}{\u{0}\"",
        "\"{\u{0}[1,2),\u{0}}\"", "1\u{0}0\u{0}",
    ]

    mutating func check(_ input: [UInt8]) {
        guard input.count > 2 else { return }
        let bytes = Repetition.unfold(Array(input.dropFirst(2)), limit: 1 << 13)
        let (column, options) = columns[Int(input[1]) % columns.count]
        switch input[0] % 4 {
        case 0: checkBody(bytes)
        case 1:
            guard let value = try? JSON.parse(bytes, limits: JSONLimits(depth: 64)) else {
                tally.count("no JSON")
                return
            }
            checkValue(value, catalog.kind(of: column), options)
        default:
            checkValue(.string(String(decoding: bytes, as: UTF8.self)), catalog.kind(of: column), options)
        }
    }

    // MARK: Bodies

    private mutating func checkBody(_ bytes: [UInt8]) {
        let body: UploadBody
        do throws(Problem) { body = try UploadBody(bytes) } catch {
            tally.count("bodies refused")
            return
        }
        tally.count("bodies")
        let transactions = body.request.transactions
        guard body.payloads.count == transactions.count, body.refusals.count == transactions.count else {
            fatalError("a transaction without what it looked like")
        }
        guard let tables = try? UploadTables(map: map, source: "map", catalog: catalog) else {
            fatalError("the map does not fit its database")
        }
        let planner = UploadPlanner(tables: tables, subject: "somebody")
        for transaction in transactions {
            var plans: [PlannedOperation] = []
            for (index, operation) in transaction.operations.enumerated() {
                do throws(Refusal) {
                    let plan = try planner.plan(operation, at: index)
                    check(plan, index)
                    plans.append(plan)
                } catch {
                    tally.count("operations refused")
                    guard error.index == index, !error.code.isEmpty, !error.message.isEmpty else {
                        fatalError("a refusal that does not say what of")
                    }
                }
            }
            check(UploadRun.runs(of: plans), plans)
        }
    }

    private mutating func check(_ plan: PlannedOperation, _ index: Int) {
        tally.count("operations")
        let names = plan.columns.map { ExactText($0.name) }
        guard plan.index == index, plan.columns.count == plan.values.count, Set(names).count == names.count,
            names.allSatisfy({ plan.table.columns[$0] != nil })
        else { fatalError("a plan that does not fit its operation") }
        for case let text? in plan.values + [plan.id] where text.utf8.contains(0) {
            fatalError("libpq would cut the text")
        }
    }

    private func check(_ runs: [UploadRun], _ plans: [PlannedOperation]) {
        guard runs.flatMap(\.operations) == plans.filter({ !$0.isEmpty }) else {
            fatalError("runs lose operations")
        }
        for run in runs {
            let sql = UploadSQL(run, owner: "somebody")
            let first = run.operations[0]
            let names = Set(first.columns.map { ExactText($0.name) })
            let isLacking = first.table.required.contains { !names.contains(ExactText($0.name)) }
            let isOwned =
                first.table.owner != nil && (first.kind != .put || !first.columns.isEmpty || isLacking)
            guard sql.parameters.count == 1 + first.columns.count + (isOwned ? 1 : 0) else {
                fatalError("a statement has other parameters than values")
            }
        }
    }

    // MARK: Values

    private mutating func checkValue(_ value: JSON, _ kind: ColumnKind, _ options: ValueOptions) {
        do throws(ValueRefusal) {
            let converted = try ValueConversion.convert(value, as: kind, options: options)
            tally.count("values")
            guard try converted == ValueConversion.convert(value, as: kind, options: options)
            else {
                fatalError("a value means two things")
            }
            check(converted, kind, options)
        } catch {
            tally.count("values refused")
            guard ["INVALID_DATA", "NUL_CHARACTER", "TOO_LARGE"].contains(error.code), !error.reason.isEmpty
            else {
                fatalError("a refusal without a reason")
            }
        }
    }

    /// What was converted is itself a value of the column, and stays as it is.
    private func check(_ converted: ConvertedValue, _ kind: ColumnKind, _ sent: ValueOptions) {
        guard let text = converted.text else { return }
        guard !text.utf8.contains(0) else { fatalError("libpq would cut the text") }
        guard converted.printedLength >= text.utf8.count, converted.printedLength <= ValueConversion.textLimit
        else {
            fatalError("a length that is not that of the text")
        }
        var options = sent
        switch kind {
        // A number of seconds has become an interval, a text in JSON another one.
        case .interval, .array(.interval): return
        case .json:
            guard (try? JSON.parse(text)) != nil else { fatalError("no JSON has become JSON") }
            return
        default: options.epoch = nil
        }
        // A text that is empty may be none, and bytes have their mark now.
        options.emptyIsNull = false
        guard let again = try? ValueConversion.convert(.string(text), as: kind, options: options)
        else {
            fatalError("what was converted is refused as \(kind)")
        }
        // JSON is written again without blanks; a moment by its offset or its number may be what infinity is printed as.
        let isInfinite = options.hasInfinity && (text.contains("9999-12-31") || text.contains("0000-01-01"))
        guard again.text == text || kind == .array(.json) || isInfinite else {
            fatalError("what was converted becomes another value of \(kind)")
        }
    }
}
