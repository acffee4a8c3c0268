import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncWire

/// The command `migrate`: an owner of the database prepares it for a backend that owns nothing (backend 6.2).
enum MigrateCommand {
    static func command(_ session: OperatorSession) -> Command {
        Command(
            "migrate", abstract: "Bring the schema psb up to date and grant a backend its rights.",
            discussion: """
                The backend keeps a ledger, dead letters and more in the schema psb. start makes it and brings it up to \
                date by itself where its role may; in production its role should own nothing. Then this command does so, \
                before a backend of a new version is started, with the DATABASE_URI of an owner: a role with CREATE on the \
                database for the first time, which owns psb then, later that owner, a member of it, or a superuser, who \
                act in its name.

                  DATABASE_URI=postgres://owner@localhost/app $0 --role app_backend

                --role grants a role all that start, letters and erase need on psb, and no more; give it at every migration, \
                since new versions may have new tables. Rights on the tables of the app are yours to grant: those that the \
                table map opens need SELECT, INSERT, UPDATE and DELETE.

                As a superuser it also makes two event triggers, psb_catalog and psb_catalog_drop, by which running \
                backends hear of changed tables within a second, and otherwise within 30 seconds. A migration of yours may \
                say NOTIFY psb_catalog instead. DROP SCHEMA psb CASCADE removes all of it.

                Either everything is done or nothing. What is done already is left as it is, and several may run at once.
                """,
            options: [
                Option("--role", "NAME", help: "Grant this role what a backend needs; may be given again."),
                Option(
                    "--checkpoints",
                    help: "Make the table public.checkpoints too, for CHECKPOINT_MODE=custom, and grant it."),
                OperatorSession.jsonOption,
            ], variables: OperatorSession.database + [timeout]
        ) { arguments in
            var migration = SchemaMigration()
            migration.time = try session.migrationTimeout() ?? migration.time
            migration.roles = arguments.all("--role")
            migration.hasCheckpoints = arguments.flag("--checkpoints")
            migration.hasTrigger = true
            let chosen = migration
            let outcome = try await session.withConnection { connection in
                do {
                    return try await chosen.run(on: connection)
                } catch let error as PostgresError where error.sqlstate == "42501" {
                    throw CommandError(
                        "\(error.message); nothing is changed. The first time a role with CREATE on the database can do "
                            + "this, later the owner of the schema psb, or a superuser")
                }
            }
            if arguments.flag("--json") {
                session.print(json(chosen, outcome))
            } else {
                session.print(text(chosen, outcome))
            }
            return 0
        }
    }

    /// Also of `start`, which migrates where its role may.
    static let timeout = Variable(
        "MIGRATION_TIMEOUT", help: "How long bringing the schema psb up to date may take; 10m by default.")

    private static func rights(_ migration: SchemaMigration) -> [String] {
        SchemaRights.all(hasCheckpoints: migration.hasCheckpoints).map(\.text)
    }

    private static func json(_ migration: SchemaMigration, _ outcome: SchemaMigration.Outcome) -> JSON {
        let rights = JSON.array(migration.roles.isEmpty ? [] : rights(migration).map { .string($0) })
        return .object([
            JSONMember("found", .integer(outcome.found)),
            JSONMember("version", .integer(BackendSchema.version)),
            JSONMember("applied", .array(outcome.applied.map { .integer($0) })),
            JSONMember("roles", .array(migration.roles.map { .string($0) })), JSONMember("rights", rights),
            JSONMember("event_trigger", outcome.trigger.map { .string($0.rawValue) } ?? .null),
            JSONMember("event_trigger_refusal", outcome.refusal.map { .string($0) } ?? .null),
        ])
    }

    private static func text(_ migration: SchemaMigration, _ outcome: SchemaMigration.Outcome) -> String {
        var lines: [String] = []
        let version = BackendSchema.version
        let applied = outcome.applied.map { String($0) }.joined(separator: ", ")
        if outcome.applied.isEmpty {
            lines.append("The schema psb has version \(version), as it should.")
        } else {
            let before = outcome.found == 0 ? "was made" : "had version \(outcome.found)"
            lines.append("The schema psb \(before) and has version \(version) now (\(applied) applied).")
        }
        if migration.hasCheckpoints {
            lines.append(
                "The table public.checkpoints \(outcome.hasMadeCheckpoints ? "was made" : "is there").")
        }
        if migration.roles.isEmpty {
            lines.append("No role was granted anything: --role NAME does so.")
        } else {
            let roles = migration.roles.map { "\"\($0)\"" }.joined(separator: ", ")
            lines.append("Granted to \(roles):")
            lines += rights(migration).map { "  " + $0 }
            lines.append("Rights on the tables of your app are yours to grant.")
        }
        if let trigger = outcome.trigger { lines.append(text(trigger, outcome.refusal)) }
        return lines.joined(separator: "\n")
    }

    private static func text(_ trigger: SchemaMigration.Trigger, _ refusal: String?) -> String {
        let reason = refusal.map { "the server refuses (\(TextTable.shown($0)))" } ?? "a superuser may make"
        return switch trigger {
        case .made: "Event triggers were made: backends hear of changed tables within a second."
        case .present: "Event triggers are there: backends hear of changed tables within a second."
        case .disabled:
            "An event trigger is there and disabled, and stays so: backends see changed tables within 30 seconds, or "
                + "when a migration says NOTIFY \(CatalogAnnouncement.channel)."
        case .refused:
            "No event triggers, which \(reason): backends see changed tables within 30 seconds, or when a "
                + "migration says NOTIFY \(CatalogAnnouncement.channel)."
        case .twoPhase:
            "No event triggers, since transactions of this server may be prepared (max_prepared_transactions), which a "
                + "notification would keep them from: backends see changed tables within 30 seconds."
        }
    }
}
