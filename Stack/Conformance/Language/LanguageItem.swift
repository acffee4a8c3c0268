import PowerSyncSyncRules
import PowerSyncWire

/// One thing that rows or requests come to; recorded ones and ours are compared as wholes.
struct LanguageItem: Hashable, Sendable {
    /// What it comes of.
    enum Place: Hashable, Sendable {
        /// A row, by its table and its number there.
        case row(ExactText, Int)
        /// A request by its number.
        case request(Int)

        /// What it is called in the report.
        var title: String {
            switch self {
            case .row(let table, let number): "row \(number) of \(table.text)"
            case .request(let number): "request \(number)"
            }
        }
    }

    /// What it comes of.
    let place: Place
    /// The bucket; nil for an error.
    let bucket: BucketParts?
    /// All else: table, id and data of a row, priority and reasons of a request's bucket, or an error.
    let content: ExactText

    /// Makes an item of its fields.
    init(_ place: Place, _ bucket: BucketParts?, _ content: String) {
        self.place = place
        self.bucket = bucket
        self.content = ExactText(content)
    }

    /// A line for people.
    var text: String { (bucket.map { $0.text + " " } ?? "") + content.text }

    /// The same with the values of the bucket's name in another order.
    func reordered(_ order: [Int]) -> LanguageItem {
        LanguageItem(place, bucket?.reordered(order), content.text)
    }

    /// A row in a bucket.
    ///
    /// - Parameters:
    ///   - place: the row.
    ///   - bucket: the name of the bucket, without `N#`.
    ///   - table: the client's table.
    ///   - id: the client's id.
    ///   - data: the client's columns, each once.
    /// - Returns: the item.
    static func row(
        _ place: Place, bucket: ExactText, table: String, id: String, data: [(ExactText, ScalarValue)]
    ) -> LanguageItem {
        let columns = data.sorted { $0.0 < $1.0 }.map { name, value in
            "\(JSON.quoted(name.text)): \(RecordedValue.text(value))"
        }
        return LanguageItem(
            place, BucketParts(bucket), "\(table) \(JSON.quoted(id)) {\(columns.joined(separator: ", "))}")
    }

    /// A bucket of a request.
    ///
    /// - Parameters:
    ///   - place: the request.
    ///   - bucket: the name of the bucket, without `N#`.
    ///   - priority: its priority.
    ///   - reasons: `default`, or numbers of subscriptions.
    /// - Returns: the item.
    static func bucket(
        _ place: Place, _ bucket: ExactText, priority: Int, reasons: [String]
    ) -> LanguageItem {
        LanguageItem(
            place, BucketParts(bucket), "priority \(priority) for \(reasons.joined(separator: ", "))")
    }

    /// A row that could not be evaluated, by one query or by several.
    static func failedRow(_ place: Place) -> LanguageItem { LanguageItem(place, nil, "an error") }

    /// A request that is refused.
    static func refused(_ place: Place) -> LanguageItem { LanguageItem(place, nil, "refused") }

    /// A stream that fails for one subscription.
    static func failure(_ place: Place, _ message: String) -> LanguageItem {
        LanguageItem(place, nil, "error: \(message)")
    }
}

/// The name of a bucket, taken apart: `s|0["a",1]`.
struct BucketParts: Hashable, Sendable {
    /// What stands before the values.
    let source: ExactText
    /// The values as they are spelled.
    let values: [ExactText]

    /// Takes a name apart; one that does not end in an array of JSON has no values.
    init(_ name: ExactText) {
        let bytes = Array(name.text.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "[") {
            // What is no JSON from here on may be from the next bracket on.
            guard let values = (try? RecordedValue.json(Array(bytes[index...])))?.arrayValue else { continue }
            self.init(
                source: ExactText(String(decoding: bytes[..<index], as: UTF8.self)),
                values: values.map { ExactText($0.text) })
            return
        }
        self.init(source: name, values: [])
    }

    private init(source: ExactText, values: [ExactText]) {
        self.source = source
        self.values = values
    }

    /// The name.
    var text: String { "\(source.text)[\(values.map(\.text).joined(separator: ","))]" }

    /// The same with its values in another order, as long as there are as many.
    func reordered(_ order: [Int]) -> BucketParts {
        guard order.count == values.count else { return self }
        return BucketParts(source: source, values: order.map { values[$0] })
    }
}
