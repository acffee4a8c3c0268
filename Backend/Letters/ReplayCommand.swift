import PowerSyncCommandLine
import PowerSyncWire

/// The command `letters replay`.
enum ReplayCommand {
    static func command(_ session: OperatorSession) -> Command {
        Command(
            "replay", abstract: "Send a dead letter again, as its sender would.",
            discussion: """
                The whole transaction goes through the same rules as at first: the table map, rows and rights of the \
                database as they are now. Policies and triggers see all claims of the token with which it came. Run it \
                with the environment of start. It ends with 0 if it was applied, and the letter is replayed then; \
                refused again it ends with 1, and the letter stays, with the new reason.

                Letters of older backends have some of the claims alone (sub, jti, iss, iat, exp, role, client_id); \
                with these a policy may refuse what it allowed, or allow what it would have refused, so such a letter \
                is sent with --partial-claims only.

                The letter is old: what came after it may be undone by it. Open letters behind it that name one of its \
                rows are listed, the first 100 of them, and nothing happens then without --yes; nor if letters of an \
                older backend, whose rows were not kept, or the database keep from looking. Writes that were applied \
                since are recorded by no row: look at the rows themselves first (letters show names them).
                """,
            options: [
                Option("--yes", help: "Send it although later letters name one of its rows, or may do so."),
                Option("--partial-claims", help: "Send it although not all claims of its sender were kept."),
                OperatorSession.jsonOption,
            ], arguments: ["ID"],
            variables: OperatorSession.database + [
                Variable("PSB_TABLE_MAP, …", help: "Everything that start reads.")
            ]
        ) { arguments in
            let id = try LettersCommand.requiredID(arguments)
            let isJSON = arguments.flag("--json")
            let (replay, later) = try await session.withConnection { connection in
                let letter = try await session.letter(id, on: connection)
                guard letter.state == .open,
                    let content = try await DeadLetterTable.content(of: letter.id, on: connection)
                else {
                    throw CommandError("\(letter.id) is \(letter.state.rawValue) already; nothing is changed")
                }
                let replay = try LetterReplay(letter, content)
                guard replay.hasAllClaims || arguments.flag("--partial-claims") else {
                    throw CommandError(
                        "\(letter.id) is of an older backend, which did not keep all claims of the sender. With "
                            + "--partial-claims it is sent, and policies see these alone: \(try shownClaims(replay))"
                    )
                }
                return (replay, try await LaterLetters(after: letter.id, naming: replay.rows, on: connection))
            }
            if !later.isNone, !arguments.flag("--yes") {
                if isJSON {
                    session.print(answer(replay, "held", later))
                } else {
                    session.print((later.text ?? "") + "\nNothing is changed without --yes.")
                }
                return 1
            }
            let outcome = try await session.withApplier { applier in
                guard try !replay.lacksChoice(among: applier.tools.roles) else {
                    throw CommandError(
                        "the claim of DB_ROLE_CLAIM is not among those that were kept of \(replay.letter.id), so that nobody "
                            + "knows as which role its sender wrote: run this with that role alone in DB_ROLES, and "
                            + "without DB_ROLE_CLAIM; nothing is changed")
                }
                return try await replay.run(with: applier)
            }
            if !replay.hasAllClaims, !isJSON {
                session.print("Policies saw these claims alone: \(try shownClaims(replay)).")
            }
            if isJSON {
                let name = outcome.isApplied ? "applied" : outcome.other == nil ? "refused" : "discarded"
                session.print(answer(replay, name, later, outcome.result))
            } else {
                session.print(text(replay, outcome, later))
            }
            return outcome.isApplied ? 0 : 1
        }
    }

    private static func shownClaims(_ replay: LetterReplay) throws -> String {
        try replay.claimNames.map { TextTable.shown($0, most: 60) }.joined(separator: ", ")
    }

    private static func text(
        _ replay: LetterReplay, _ outcome: LetterReplay.Outcome, _ later: LaterLetters
    ) -> String {
        var lines: [String] = []
        if let other = outcome.other {
            lines.append(
                "An earlier attempt left the letter \(other.id) with the same operations, which is \(other.state.rawValue): "
                    + "so is this one now.")
        } else if outcome.isApplied {
            let states = outcome.result.operations.map(\.status)
            let counts = Set(states).sorted().map { state in "\(states.count { $0 == state }) \(state)" }
            lines.append("Applied: \(counts.joined(separator: ", ")).")
        } else {
            let failure = outcome.result.failure
            lines.append(
                "Refused again: \(failure?.errorCode ?? "UNCLASSIFIED_ERROR"), "
                    + "\(TextTable.shown(failure?.message ?? "for a reason that is not known")). It stays open."
            )
        }
        if let text = later.text { lines.append(text) }
        return lines.joined(separator: "\n")
    }

    private static func answer(
        _ replay: LetterReplay, _ outcome: String, _ later: LaterLetters, _ result: UploadResult? = nil
    ) -> JSON {
        .object(
            [
                JSONMember("id", .string(replay.letter.id)), JSONMember("outcome", .string(outcome)),
                JSONMember("has_all_claims", .bool(replay.hasAllClaims)),
            ] + later.members + (result.map { [JSONMember("result", $0.json)] } ?? []))
    }
}
