/// What a look for a file has shown.
enum FilePresence: Sendable {
    /// It is there.
    case here
    /// It is surely not there: nothing has the name.
    case missing
    /// Nobody can tell: looking failed.
    case unknown(any Error)
}
