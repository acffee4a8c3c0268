/// What the body of an upload is made of, counted while its bytes are passed and before any of it is kept.
///
/// A body of 16 MiB becomes a tree of some hundred if nobody looks first.
package struct UploadShape: Sendable, Hashable {
    /// The transactions.
    package private(set) var transactions = 0
    /// The operations of all transactions.
    package private(set) var operations = 0
    /// The values of JSON.
    package private(set) var values = 0
    /// About how many bytes the tree of the body takes.
    package private(set) var treeBytes = 0
    /// About how many bytes the trees of its texts take if they are arrays.
    package private(set) var textTreeBytes = 0

    /// Passes over a body.
    ///
    /// - Parameters:
    ///   - bytes: the body, of any dialect.
    ///   - limits: where it is too large; nothing behind that place is looked at.
    /// - Throws: `WireError` with `.malformedJSON`, `.tooLarge` or `.tooManyTransactions`.
    package init(_ bytes: [UInt8], limits: UploadLimits) throws(WireError) {
        let scanning = JSONLimits(depth: limits.depth, numberBytes: limits.numberBytes)
        self = try JSON.reading(bytes, limits: scanning) {
            (scanner: inout JSONScanner) throws(WireError) -> UploadShape in
            var counter = UploadCounter(limits: limits)
            try counter.body(&scanner)
            return UploadShape(counter)
        }
    }

    private init(_ counter: UploadCounter) {
        transactions = counter.transactions
        operations = counter.operations
        values = counter.values
        treeBytes = counter.treeBytes
        textTreeBytes = counter.textTreeBytes
    }
}

/// Passes over a body with the limits in hand.
private struct UploadCounter {
    /// What an array takes before its first element.
    private static let arrayBytes = 48
    /// Arrays double when they grow, so that a place of one is taken twice.
    private static let elementBytes = 2 * MemoryLayout<JSON>.stride
    private static let memberBytes = 2 * MemoryLayout<JSONMember>.stride
    /// A text up to this length lies in its own sixteen bytes.
    private static let smallText = 15
    /// The length from which on it is looked at what a text would be as an array.
    private static let largeText = 4_096
    /// A value of such a text, or what its list or object takes for it.
    private static let textValueBytes = elementBytes + 16

    let limits: UploadLimits
    private(set) var transactions = 0
    private(set) var operations = 0
    private(set) var values = 0
    private(set) var treeBytes = 0
    private(set) var textTreeBytes = 0

    init(limits: UploadLimits) { self.limits = limits }

    /// Passes an element of an array.
    private typealias ElementPass = (inout UploadCounter, inout JSONScanner) throws(WireError) -> Void
    /// Passes the value of a member of an object.
    private typealias MemberPass = (inout UploadCounter, ScannedText, inout JSONScanner) throws(WireError) ->
        Void

    /// Passes the body; what is of another form than an upload is left to its reader.
    mutating func body(_ scanner: inout JSONScanner) throws(WireError) {
        let transactions: ElementPass = { (counter, scanner) throws(WireError) in
            try counter.countTransaction()
            try counter.transaction(&scanner)
        }
        let members: MemberPass = { (counter, name, scanner) throws(WireError) in
            switch name {
            case "batch":
                try counter.countTransaction()
                try counter.crud(&scanner)
            case "transactions": try counter.value(&scanner, elements: transactions)
            default: try counter.value(&scanner)
            }
        }
        try value(&scanner, members: members)
    }

    private mutating func transaction(_ scanner: inout JSONScanner) throws(WireError) {
        let members: MemberPass = { (counter, name, scanner) throws(WireError) in
            switch name {
            case "crud": try counter.crud(&scanner)
            default: try counter.value(&scanner)
            }
        }
        try value(&scanner, members: members)
    }

    /// Passes the operations of one transaction.
    private mutating func crud(_ scanner: inout JSONScanner) throws(WireError) {
        let before = operations
        let elements: ElementPass = { (counter, scanner) throws(WireError) in
            counter.operations += 1
            let limits = counter.limits
            guard counter.operations - before <= limits.operations else {
                throw counter.tooLarge(
                    "at most \(limits.operations) operations in a transaction", limits.operations)
            }
            guard counter.operations <= limits.requestOperations else {
                throw counter.tooLarge(
                    "at most \(limits.requestOperations) operations in a request", limits.requestOperations)
            }
            try counter.value(&scanner)
        }
        try value(&scanner, elements: elements)
    }

    /// Passes a value.
    ///
    /// - Parameters:
    ///   - scanner: stands before it.
    ///   - elements: passes each element if it is an array; nil for any values.
    ///   - members: passes the value of each member if it is an object; nil for any values.
    /// - Throws: `WireError`.
    private mutating func value(
        _ scanner: inout JSONScanner, elements: ElementPass? = nil, members: MemberPass? = nil
    ) throws(WireError) {
        try begin()
        switch try scanner.peek() {
        case .null: _ = try scanner.passNull()
        case .bool: _ = try scanner.bool()
        case .number:
            let start = try scanner.passNumber()
            text(scanner.position - start)
        case .string:
            let scanned = try scanner.scannedText()
            text(scanned.count)
            // What is small is no matter, and most texts are.
            if scanned.count > Self.largeText { textTreeBytes += scanned.mostValues * Self.textValueBytes }
        case .array:
            try scanner.beginArray()
            var isFirst = true
            while try scanner.nextElement(isFirst: isFirst) {
                element(isFirst: isFirst)
                isFirst = false
                if let elements { try elements(&self, &scanner) } else { try value(&scanner) }
            }
        case .object:
            try scanner.beginObject()
            var isFirst = true
            while let name = try scanner.nextScannedName(isFirst: isFirst) {
                member(name, isFirst: isFirst)
                isFirst = false
                if let members { try members(&self, name, &scanner) } else { try value(&scanner) }
            }
        }
    }

    // MARK: Counting

    private mutating func begin() throws(WireError) {
        values += 1
        guard values <= limits.values else {
            throw tooLarge("at most \(limits.values) values in a request", limits.values)
        }
    }

    private mutating func element(isFirst: Bool) {
        treeBytes += Self.elementBytes + (isFirst ? Self.arrayBytes : 0)
    }

    private mutating func member(_ name: ScannedText, isFirst: Bool) {
        treeBytes += Self.memberBytes + (isFirst ? Self.arrayBytes : 0)
        text(name.count)
    }

    private mutating func text(_ count: Int) {
        if count > Self.smallText { treeBytes += Self.arrayBytes + count }
    }

    private mutating func countTransaction() throws(WireError) {
        transactions += 1
        guard transactions <= limits.transactions else {
            throw WireError(
                .tooManyTransactions, "at most \(limits.transactions) transactions in a request",
                limit: limits.transactions)
        }
    }

    private func tooLarge(_ message: String, _ limit: Int) -> WireError {
        WireError(.tooLarge, message, limit: limit)
    }
}
