import PowerSyncSystem
import PowerSyncWire

/// The right to transfer the files of one table, which one process has at a time, and in it one queue.
///
/// It is a lock on a file beside the database, `DATABASE-attachments-TABLE`; where there is no such file, a turn
/// within the process. A database of another making has neither: there everybody has the right.
final class TransferRight: Sendable {
    private enum Source {
        case lock(SyncLock)
        case turns(TransferTurns)
        case none
    }

    private struct State {
        /// Counts claims and their ends: what belongs to an earlier claim tells nothing.
        var claim = 0
        var turn: UInt64?
        var isOurs = false
        /// Whether something was told of the claim, which is newer than what the claim found.
        var hasNews = false
    }

    private let source: Source
    private let table: ExactText
    private let state = Lock(State())

    /// Makes what does nothing before ``claim(_:logger:told:)``.
    init(of db: any PowerSyncDatabaseProtocol, table name: String) {
        // SQLite takes names for one that differ in the case of letters alone.
        table = SQLText.folded(name)
        if let group = (db as? LocalDatabase)?.group {
            if let files = group.files {
                source = .lock(SyncLock(files, for: .transfers(of: SQLText.folded(name))))
            } else {
                source = .turns(group.transferTurns)
            }
        } else {
            source = .none
        }
    }

    deinit { release() }

    /// Whether the right is here.
    var isOurs: Bool { state.withLock { $0.isOurs } }

    /// Asks for the right, or waits for it in the background until ``release()``.
    ///
    /// - Parameters:
    ///   - environment: how to wait.
    ///   - logger: receives warnings.
    ///   - changed: called each time that the right has come or gone since; must not block.
    func claim(
        _ environment: SyncEnvironment, logger: any LoggerProtocol, changed: @escaping @Sendable () -> Void
    ) {
        let claim = state.withLock { state in
            state.claim += 1
            (state.isOurs, state.hasNews) = (false, false)
            return state.claim
        }
        let tell: @Sendable (Bool) -> Void = { [weak self] isOurs in
            if self?.note(isOurs, of: claim) == true { changed() }
        }
        let isOurs: Bool
        switch source {
        case .lock(let lock):
            let log: SyncLog = { severity, text in logger.log(severity, text, tag: LogTag.attachmentSync) }
            isOurs = lock.claim(environment, log: log) { tell($0 == .us) } == .us
        case .turns(let turns):
            let (id, isFirst) = turns.claim(table) { tell(true) }
            state.withLock { $0.turn = id }
            isOurs = isFirst
        case .none: isOurs = true
        }
        state.withLock { state in
            if state.claim == claim, !state.hasNews { state.isOurs = isOurs }
        }
    }

    /// Gives the right, or the wait for it, up.
    func release() {
        let turn = state.withLock { state in
            state.claim += 1
            state.isOurs = false
            return state.turn.take()
        }
        switch source {
        case .lock(let lock): lock.release()
        case .turns(let turns): if let turn { turns.release(turn, of: table) }
        case .none: break
        }
    }

    private func note(_ isOurs: Bool, of claim: Int) -> Bool {
        state.withLock { state in
            guard state.claim == claim else { return false }
            (state.isOurs, state.hasNews) = (isOurs, true)
            return true
        }
    }
}

extension SyncLock.Purpose {
    /// How many bytes of a table's name stand in that of the file: the name of a file has a limit.
    private static let longestName = 64

    /// Transferring the files of a table of attachments.
    static func transfers(of table: ExactText) -> Self {
        SyncLock.Purpose(ending: ending(of: table), deed: "transfer attachments of this database")
    }

    /// What the name of the locked file has behind that of the database: the name of the table as a file may be called.
    static func ending(of table: ExactText) -> String {
        var name = ""
        for byte in table.text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                name += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        guard name.utf8.count > longestName else { return beginning + name }
        // The beginning, and a number made of all of it (FNV-1a).
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\(beginning)\(name.prefix(longestName))%\(String(hash, radix: 16))"
    }

    /// What all these files have behind the name of the database.
    static let beginning = "-attachments-"
}
