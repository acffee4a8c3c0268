import PowerSyncCommandLine
import PowerSyncPostgres

/// What a failure means to an operator.
package enum OperatorFailure {
    /// Returns what to print instead of an error.
    package static func explained(_ error: any Error) -> any Error {
        switch error {
        case let error as PostgresError where error.sqlstate == "42P01" || error.sqlstate == "3F000":
            CommandError(
                "this database is no backend's: it has no schema psb. Is DATABASE_URI the one of start?")
        case let error as PostgresError where error.sqlstate == "42703":
            CommandError(
                "the schema psb is of an older backend: run `powersync-backend migrate` with the DATABASE_URI of its "
                    + "owner, and start a backend of this version")
        case let error as PostgresError: CommandError("the database: \(TextTable.shown("\(error)"))")
        case let failure as UploadFailure where failure.code == BackendSchema.letterNotOpenCode:
            CommandError("somebody else has seen to the letter meanwhile; nothing is changed")
        case let failure as UploadFailure where failure.code == BackendSchema.userDisabledCode:
            CommandError("not applied: its user is disabled (psb.disabled_users); nothing is changed")
        case let failure as UploadFailure:
            // The connection may have broken behind COMMIT.
            CommandError(
                "whether it was applied is not known (\(failure.code)): letters show says so. Replay it again if it is "
                    + "open; it is never applied twice")
        case let problem as Problem: CommandError("not applied: \(problem.detail ?? problem.title)")
        default: error
        }
    }
}
