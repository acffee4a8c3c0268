/// The operations of a data line, with their texts as bytes in one buffer.
///
/// A line holds a thousand operations of half a kilobyte: kept like this they cost one allocation instead of five
/// thousand, and are stored without ever becoming a `String`. Elements read one by one are ordinary ``Operation``s.
package struct OperationList: Sendable {
    /// A text within the buffer, or its absence.
    package struct Text: Sendable {
        /// Where it begins.
        package let offset: UInt32
        private let length: UInt32

        /// No text.
        package static let absent = Text(offset: 0, length: .max)

        private init(offset: UInt32, length: UInt32) {
            self.offset = offset
            self.length = length
        }

        /// Names a part of the buffer.
        package init(offset: Int, count: Int) { self.init(offset: UInt32(offset), length: UInt32(count)) }

        /// Whether there is no text.
        package var isAbsent: Bool { length == .max }
        /// Its bytes; 0 where there is none.
        package var count: Int { isAbsent ? 0 : Int(length) }
        /// The bytes it takes in the buffer.
        package var range: Range<Int> { Int(offset)..<Int(offset) + count }
    }

    /// One operation; its texts are in the buffer.
    package struct Entry: Sendable {
        /// Its number.
        package var id: OperationID
        /// What it does.
        package var kind: Operation.Kind
        /// Its share of the bucket's checksum.
        package var checksum: Checksum
        /// The name of the table on the client.
        package var objectType: Text
        /// The id of the row.
        package var objectID: Text
        /// Tells rows of one type and id apart.
        package var subkey: Text
        /// The row as JSON text.
        package var data: Text

        /// Makes an entry of its fields.
        package init(
            id: OperationID, kind: Operation.Kind, checksum: Checksum, objectType: Text = .absent,
            objectID: Text = .absent, subkey: Text = .absent, data: Text = .absent
        ) {
            self.id = id
            self.kind = kind
            self.checksum = checksum
            self.objectType = objectType
            self.objectID = objectID
            self.subkey = subkey
            self.data = data
        }
    }

    /// The texts of all operations, in UTF-8.
    package private(set) var bytes: [UInt8] = []
    /// The operations in order.
    package private(set) var entries: [Entry] = []

    /// Makes an empty list.
    package init() {}

    /// Makes a list of operations.
    package init(_ operations: some Sequence<Operation>) { for operation in operations { append(operation) } }

    /// Takes texts and the operations that refer to them.
    ///
    /// - Parameters:
    ///   - bytes: texts in UTF-8, at most 4 GiB.
    ///   - entries: the operations; their texts lie within `bytes`.
    package init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
    }

    /// Adds an operation at the end.
    package mutating func append(_ operation: Operation) {
        entries.append(
            Entry(
                id: operation.id, kind: operation.kind, checksum: operation.checksum,
                objectType: text(operation.objectType), objectID: text(operation.objectID),
                subkey: text(operation.subkey), data: text(operation.data)))
    }

    private mutating func text(_ text: String?) -> Text {
        guard let text else { return .absent }
        let offset = bytes.count
        bytes.append(contentsOf: text.utf8)
        return Text(offset: offset, count: bytes.count - offset)
    }

    /// Returns a text as a `String`; nil where it is absent.
    package func string(_ text: Text) -> String? {
        text.isAbsent ? nil : String(decoding: bytes[text.range], as: UTF8.self)
    }
}

extension OperationList: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { entries.count }

    /// The operation with texts of its own.
    package subscript(position: Int) -> Operation {
        let entry = entries[position]
        return Operation(
            id: entry.id, kind: entry.kind, objectType: string(entry.objectType),
            objectID: string(entry.objectID), subkey: string(entry.subkey), checksum: entry.checksum,
            data: string(entry.data))
    }
}

extension OperationList: Hashable {
    package static func == (left: OperationList, right: OperationList) -> Bool { left.elementsEqual(right) }

    package func hash(into hasher: inout Hasher) { for operation in self { hasher.combine(operation) } }
}

extension OperationList: ExpressibleByArrayLiteral {
    package init(arrayLiteral operations: Operation...) { self.init(operations) }
}
