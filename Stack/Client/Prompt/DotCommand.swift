import PowerSync
import PowerSyncWire

/// What a person can ask for at the prompt beside SQL: a word that begins with a point.
package enum DotCommand: Sendable, Equatable {
    /// Lists the commands.
    case help
    /// Tells the state of syncing.
    case status
    /// Lists the tables.
    case tables
    /// Lists the columns of a table, or of all.
    case schema(String?)
    /// Starts syncing.
    case connect
    /// Stops syncing.
    case disconnect
    /// Stops syncing and removes the data.
    case clear(soft: Bool)
    /// Subscribes to a stream.
    case stream(ClientStream)
    /// Gives a stream up.
    case unstream(ClientStream, all: Bool)
    /// Lists the streams.
    case streams
    /// Shows a query now and after each change.
    case watch(String)
    /// Ends a watch, or all.
    case unwatch(Int?)
    /// Tells what waits to be uploaded.
    case queue
    /// Gives up the transaction that the backend refuses and leaves to the client.
    case discard
    /// Lists the files that belong to rows.
    case attachments
    /// Saves a file, with a statement in the same transaction.
    case attach(String, sql: String?)
    /// Copies a file out.
    case export(id: String, String)
    /// Deletes a file, with a statement in the same transaction.
    case detach(id: String, sql: String?)
    /// Waits for a state, as many seconds as are given.
    case wait(ClientRequest.Condition, seconds: Double?)
    /// Chooses how rows are shown.
    case mode(ResultTable.Form)
    /// Ends the program.
    case quit

    /// How each is typed, and what it does.
    package static let usages: [(usage: String, help: String)] = [
        (".connect", "start syncing"),
        (".disconnect", "stop syncing; the data stays"),
        (".status", "the state of syncing"),
        (
            ".wait STATE [SECONDS]",
            "wait for first-sync, queue-empty, up-to-date or attachments; Ctrl-C ends it"
        ),
        (".wait stream NAME [JSON] [SECONDS]", "wait for the data of a sync stream, with parameters"),
        (".queue", "what waits to be uploaded"),
        (".discard", "give up the transaction that the backend refuses, and leaves to you"),
        (".tables", "the tables"),
        (".schema [TABLE]", "their columns"),
        (".watch SQL", "show a query now and after each change"),
        (".unwatch [NUMBER]", "end a watch, or all"),
        (".stream NAME [JSON]", "subscribe to a sync stream, with parameters"),
        (".unstream [--all] NAME [JSON]", "give it up; --all: what others have asked for, too"),
        (".streams", "the streams"),
        (".attachments", "the files that belong to rows"),
        (
            ".attach FILE [SQL]",
            "save a file, and run SQL in the same transaction, where $attachment is its id"
        ),
        (".export ID FILE", "copy a file to another place"),
        (".detach ID [SQL]", "delete a file, and run SQL in the same transaction"),
        (".clear [--soft]", "stop syncing and remove the data; --soft keeps what was downloaded aside"),
        (".mode auto|table|line", "how rows are shown"),
        (".help", "this list"),
        (".quit", "leave; so does Ctrl-D"),
    ]

    /// Reads a command.
    ///
    /// - Parameter line: what was typed; it begins with a point. A semicolon at its end does not matter.
    /// - Throws: `ClientError` for what makes no sense, with the way to type it.
    package init(_ line: String) throws(ClientError) {
        var words = Words(line)
        let name = words.next() ?? ""
        switch name {
        case ".help", ".h", ".?": self = .help
        case ".status": self = .status
        case ".tables": self = .tables
        case ".schema": self = .schema(words.next())
        case ".connect": self = .connect
        case ".disconnect": self = .disconnect
        case ".clear": self = .clear(soft: words.flag("--soft"))
        case ".stream": self = .stream(try Self.readStream(&words, name))
        case ".unstream":
            let all = words.flag("--all")
            self = .unstream(try Self.readStream(&words, name), all: all)
        case ".streams": self = .streams
        case ".watch":
            guard let sql = words.rest() else { throw Self.usage(of: name) }
            self = .watch(sql)
        case ".unwatch":
            let word = words.next()
            let number = word.flatMap { Int($0) }
            if word != nil, number == nil { throw Self.usage(of: name) }
            self = .unwatch(number)
        case ".queue": self = .queue
        case ".discard": self = .discard
        case ".attachments": self = .attachments
        case ".attach":
            guard let file = words.nextName() else { throw Self.usage(of: name) }
            self = .attach(file, sql: words.rest())
        case ".export":
            guard let id = words.next(), let file = words.nextName() else { throw Self.usage(of: name) }
            self = .export(id: id, file)
        case ".detach":
            guard let id = words.next() else { throw Self.usage(of: name) }
            self = .detach(id: id, sql: words.rest())
        case ".wait": self = try Self.readWait(&words, name)
        case ".mode":
            guard let form = words.next().flatMap({ ResultTable.Form(rawValue: $0) }) else {
                throw Self.usage(of: name)
            }
            self = .mode(form)
        case ".quit", ".exit", ".q": self = .quit
        default: throw ClientError("there is no command \(DisplayText.of(name)); .help lists them")
        }
        if words.rest() != nil { throw Self.usage(of: name) }
    }

    private static func readWait(_ words: inout Words, _ name: String) throws(ClientError) -> DotCommand {
        let condition: ClientRequest.Condition
        switch words.next() {
        case "first-sync": condition = .firstSync
        case "queue-empty": condition = .queueEmpty
        case "up-to-date": condition = .upToDate
        case "attachments": condition = .attachments
        case "stream":
            guard let stream = words.next() else { throw usage(of: "\(name) stream") }
            // Before the parameters, which may have spaces, and end with a brace.
            let seconds = words.lastSeconds()
            return .wait(.stream(try named(stream, with: words.rest())), seconds: seconds)
        default: throw usage(of: name)
        }
        guard let word = words.next() else { return .wait(condition, seconds: nil) }
        guard let seconds = Self.seconds(word) else { throw usage(of: name) }
        return .wait(condition, seconds: seconds)
    }

    /// Returns how many seconds a word says; nil for another word.
    private static func seconds(_ word: String) -> Double? {
        guard let seconds = Double(word), seconds >= 0, seconds.isFinite else { return nil }
        return seconds
    }

    private static func readStream(_ words: inout Words, _ name: String) throws(ClientError) -> ClientStream {
        guard let stream = words.next() else { throw usage(of: name) }
        return try named(stream, with: words.rest())
    }

    /// Returns a stream with the parameters that stand behind its name, if any do.
    private static func named(_ stream: String, with text: String?) throws(ClientError) -> ClientStream {
        guard let text else { return ClientStream(name: stream, parameters: nil) }
        // What is wrong is seen at once: it stands in the line.
        guard let members = try? JSON.parse(text).objectMembers else {
            throw ClientError("the parameters of a stream are a JSON object")
        }
        return ClientStream(name: stream, parameters: JsonParam(members))
    }

    /// The error that shows how a command is typed.
    private static func usage(of name: String) -> ClientError {
        let usage = usages.first { $0.usage == name || $0.usage.hasPrefix("\(name) ") }?.usage ?? name
        return ClientError("it is typed as \(usage)")
    }

    /// The words of a line, one after the other.
    private struct Words {
        private var text: Substring

        init(_ line: String) {
            var text = line[...]
            while let last = text.last, last.isWhitespace || last == ";" { text.removeLast() }
            self.text = text
        }

        private mutating func skipSpace() { text = text.drop { $0.isWhitespace } }

        /// Returns the next word; nil at the end.
        mutating func next() -> String? {
            skipSpace()
            let word = text.prefix { !$0.isWhitespace }
            text = text[word.endIndex...]
            return word.isEmpty ? nil : String(word)
        }

        /// Returns the next word, or what stands between two quotation marks of a kind; nil at the end.
        mutating func nextName() -> String? {
            skipSpace()
            guard let mark = text.first, mark == "\"" || mark == "'" else { return next() }
            let quoted = text.dropFirst()
            guard let end = quoted.firstIndex(of: mark), end > quoted.startIndex else { return next() }
            text = quoted[quoted.index(after: end)...]
            return String(quoted[..<end])
        }

        /// Returns whether the next word is this one, which is then taken.
        mutating func flag(_ name: String) -> Bool {
            var rest = self
            guard rest.next() == name else { return false }
            self = rest
            return true
        }

        /// Returns the seconds that the last word says, which is then taken; nil for another word, which stays.
        mutating func lastSeconds() -> Double? {
            let start = text.lastIndex { $0.isWhitespace }.map { text.index(after: $0) } ?? text.startIndex
            guard let seconds = DotCommand.seconds(String(text[start...])) else { return nil }
            text = text[..<start]
            return seconds
        }

        /// Returns all that is left; nil for nothing.
        mutating func rest() -> String? {
            skipSpace()
            defer { text = text[text.endIndex...] }
            return text.isEmpty ? nil : String(text)
        }
    }
}
