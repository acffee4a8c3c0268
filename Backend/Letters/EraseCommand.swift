import PowerSyncCommandLine
import PowerSyncWire

/// The command `erase`: a person wants to be forgotten.
enum EraseCommand {
    static func command(_ session: OperatorSession) -> Command {
        Command(
            "erase", abstract: "Remove what the backend keeps about a user.",
            discussion: """
                That is dead letters, which hold what was written, the entries of the ledger by which repeated uploads \
                are known, counted attempts, and custom checkpoints where public.checkpoints is the backend's own. The \
                user's rows in the tables of the app are not touched. Sign the user out first: an upload that a device sends again after this is applied again.

                An entry in psb.disabled_users stays: without it the user could come in again.

                Attachments that the user has uploaded are deleted, whatever rows still name them: what is known of them \
                is removed at once. A backend that runs has the store remove the bytes within ten minutes, and again when no \
                signed URL can bring any.

                  $0 --user 3f2a…            says what there is
                  $0 --user 3f2a… --yes      removes it, all or nothing, and says what
                """,
            options: [
                Option("--user", "SUBJECT", help: "The user, as tokens name it (the claim sub)."),
                Option("--yes", help: "Remove it; without this nothing is changed."),
                OperatorSession.jsonOption,
            ], variables: OperatorSession.database
        ) { arguments in
            guard let user = arguments.value("--user") else {
                throw CommandError("name the user: --user SUBJECT", exitStatus: CommandError.usageStatus)
            }
            let removes = arguments.flag("--yes")
            let counts = try await session.withConnection {
                try await Erasure.run(user, removes: removes, on: $0)
            }
            if arguments.flag("--json") {
                let rows = counts.map { JSONMember($0.table, .integer($0.rows)) }
                session.print(.object([JSONMember(removes ? "removed" : "would_remove", .object(rows))]))
            } else {
                var table = TextTable(["TABLE", removes ? "ROWS REMOVED" : "ROWS"])
                for count in counts { table.add([count.table, String(count.rows)]) }
                session.print(table.text + (removes ? "" : "\nNothing is changed without --yes."))
            }
            return removes ? 0 : 1
        }
    }
}
