import PowerSyncCommandLine
import PowerSyncWire

/// The command `letters`: what became of writes that the database refused.
enum LettersCommand {
    static func command(_ session: OperatorSession) -> Command {
        Command(
            "letters", abstract: "See to dead letters: uploads that were refused for good.",
            discussion: """
                A write that can never be accepted, because a constraint, a right or a value is against it, is answered \
                and leaves the device; the backend keeps it as a dead letter, with everything that its transaction \
                held. Somebody looks, repairs the cause, and sends the letter again, or gives it up. By itself one thing \
                happens: after 30 days (DEAD_LETTER_RETENTION) all letters are removed, open ones too, and what they \
                held is lost. From three days before, the log warns every hour.

                  $0 list                  which there are
                  $0 show 3f2a             why one was refused, and what it holds
                  $0 replay 3f2a           send it again, after the cause is gone
                  $0 discard 3f2a 77c1     give letters up; their operations are dropped

                A user may have \(DeadLetterPolicy().rows) open letters or \(DeadLetterPolicy().bytes / 1_000_000) MB \
                (DEAD_LETTER_ROWS, DEAD_LETTER_BYTES); at that quota the uploads of this user are answered 429 and wait \
                on the device until letters are replayed or discarded. An id may be shortened to its first digits.
                """,
            subcommands: [list(session), show(session), ReplayCommand.command(session), discard(session)])
    }

    private static let selection = [
        Option("--user", "SUBJECT", help: "Only those of this user, as tokens name it."),
        Option(
            "--digest", "HEX", help: "Only those of the user with this digest, which the log gives instead."),
    ]

    private static func selected(_ arguments: ParsedArguments) -> DeadLetterTable.Selection {
        DeadLetterTable.Selection(user: arguments.value("--user"), digest: arguments.value("--digest"))
    }

    private static func list(_ session: OperatorSession) -> Command {
        Command(
            "list", abstract: "List the newest dead letters, oldest first.",
            options: selection + [
                Option(
                    "--state", "STATE", help: "open, replayed, discarded or all.",
                    standard: StoredLetter.State.open.rawValue),
                Option("--limit", "N", help: "How many at most.", standard: "50"), OperatorSession.jsonOption,
            ], variables: OperatorSession.database
        ) { arguments in
            var selection = selected(arguments)
            let state = arguments.value("--state") ?? StoredLetter.State.open.rawValue
            if state != "all" {
                guard let known = StoredLetter.State(rawValue: state) else {
                    throw CommandError(
                        "--state takes open, replayed, discarded or all", exitStatus: CommandError.usageStatus
                    )
                }
                selection.state = known
            }
            let most = try arguments.number("--limit", in: 1...1_000_000) ?? 50
            let chosen = selection
            let (letters, total) = try await session.withConnection {
                try await DeadLetterTable.list(chosen, most: most, on: $0)
            }
            if arguments.flag("--json") {
                session.print(
                    .object([
                        JSONMember("letters", .array(letters.map(\.json))),
                        JSONMember("total", .integer(total)),
                    ]))
            } else {
                session.print(text(of: letters, total: total, state: state))
            }
            return 0
        }
    }

    private static func text(of letters: [StoredLetter], total: Int, state: String) -> String {
        guard !letters.isEmpty else {
            return state == "all"
                ? "There are no dead letters." : "There are no dead letters that are \(state)."
        }
        var table = TextTable(["ID", "TIME", "USER", "TABLE", "ROW", "CODE", "STATE", "TRIES", "BYTES"])
        for letter in letters {
            table.add([
                String(letter.id.prefix(8)), letter.time, letter.user, letter.table ?? "–", letter.row ?? "–",
                letter.code, letter.state.rawValue, String(letter.attempts), String(letter.bytes),
            ])
        }
        let rest = total - letters.count
        return table.text + (rest > 0 ? "\n\(rest) older ones are not shown (--limit)" : "")
    }

    private static func show(_ session: OperatorSession) -> Command {
        Command(
            "show", abstract: "Show why a dead letter was refused and what it holds.",
            options: [OperatorSession.jsonOption], arguments: ["ID"], variables: OperatorSession.database
        ) { arguments in
            let id = try requiredID(arguments)
            let (letter, payload) = try await session.withConnection { connection in
                let letter = try await session.letter(id, on: connection)
                return (
                    letter,
                    try await DeadLetterTable.content(of: letter.id, on: connection)?.payload ?? "null"
                )
            }
            let operations = try StoredLetter.operations(in: payload)
            if arguments.flag("--json") {
                session.print(
                    .object((letter.json.objectMembers ?? []) + [JSONMember("operations", operations)]))
                return 0
            }
            let width = letter.fields.map(\.name.count).max() ?? 0
            var lines = letter.fields.map { name, value in
                name + String(repeating: " ", count: width - name.count + 2)
                    + TextTable.shown(value.stringValue ?? value.text)
            }
            lines.append("")
            if let elements = operations.arrayValue {
                for (index, operation) in elements.enumerated() {
                    let mark = index == letter.failedIndex ? "→" : " "
                    lines.append("\(mark) \(index)  \(TextTable.shown(operation.text))")
                }
            } else {
                lines.append("The operations were dropped when the letter was discarded.")
            }
            session.print(lines.joined(separator: "\n"))
            return 0
        }
    }

    private static func discard(_ session: OperatorSession) -> Command {
        Command(
            "discard", abstract: "Give dead letters up; their operations are dropped.",
            discussion: """
                What remains until it is pruned is who sent what when to which table, and why it was refused. The device \
                has long forgotten the write: what is discarded here is gone.
                """,
            options: selection + [
                Option("--all", help: "All open letters of --user or --digest, instead of ids."),
                Option("--yes", help: "Do so; without it, --all only says how many there are."),
                OperatorSession.jsonOption,
            ], arguments: ["ID…"], variables: OperatorSession.database
        ) { arguments in
            let isAll = arguments.flag("--all")
            var selection = selected(arguments)
            let hasUser = selection.user != nil || selection.digest != nil
            guard isAll ? hasUser && arguments.arguments.isEmpty : !hasUser && !arguments.arguments.isEmpty
            else {
                throw CommandError(
                    "name the letters by their ids, or all of a user by --all and --user or --digest",
                    exitStatus: CommandError.usageStatus)
            }
            selection.state = .open
            let chosen = selection
            let isSure = arguments.flag("--yes")
            let ids = arguments.arguments
            let count = try await session.withConnection { connection -> Int in
                if isAll {
                    if isSure { return try await DeadLetterTable.discardAll(chosen, on: connection) }
                    return try await DeadLetterTable.list(chosen, most: 1, on: connection).total
                }
                // All are found before the first is touched.
                var letters: [StoredLetter] = []
                for id in ids { letters.append(try await session.letter(id, on: connection)) }
                for letter in letters where letter.state != .open {
                    throw CommandError("\(letter.id) is \(letter.state.rawValue) already; nothing is changed")
                }
                var count = 0
                for letter in letters {
                    guard try await DeadLetterTable.discard(letter.id, on: connection) else {
                        throw CommandError(
                            "somebody else has seen to \(letter.id) meanwhile; \(count) before it are discarded"
                        )
                    }
                    count += 1
                }
                return count
            }
            let isDone = !isAll || isSure
            if arguments.flag("--json") {
                session.print(.object([JSONMember(isDone ? "discarded" : "would_discard", .integer(count))]))
            } else if isDone {
                session.print("\(count) discarded.")
            } else {
                session.print("\(count) would be discarded; nothing is changed without --yes.")
            }
            return isDone ? 0 : 1
        }
    }

    static func requiredID(_ arguments: ParsedArguments) throws(CommandError) -> String {
        guard let id = arguments.arguments.first else {
            throw CommandError(
                "name a letter by its id, of letters list", exitStatus: CommandError.usageStatus)
        }
        return id
    }
}
