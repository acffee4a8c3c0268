import CPowerSyncCurl
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The thread that drives all transfers of a client through one multi handle of libcurl.
///
/// Other threads only leave a command and wake it; every other call into libcurl happens on this thread.
final class CurlLoop: Sendable {
    enum Command: Sendable {
        case add(Transfer)
        case resume(Transfer)
        case remove(Transfer)
    }

    private struct State {
        var commands: [Command] = []
        var isStopping = false
        /// Whether the multi handle may still be woken.
        var isRunning = true
    }

    private struct Multi: @unchecked Sendable {
        // Safe because other threads use it for curl_multi_wakeup alone, which libcurl permits.
        let handle: UnsafeMutableRawPointer
    }

    private let state = Lock(State())
    /// The clock of idle transfers.
    let now: @Sendable () -> ContinuousClock.Instant
    private let configuration: HTTPClientConfiguration
    private let multi: Multi
    private let thread = Lock<pthread_t?>(nil)

    /// libcurl's own initialisation, once in a process as it demands.
    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Makes a loop that is not running yet.
    ///
    /// - Parameters:
    ///   - now: the clock of idle transfers.
    ///   - configuration: the ways to servers, and certificates.
    /// - Throws: when libcurl cannot be initialised.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) throws(HTTPClientError) {
        self.now = now
        self.configuration = configuration
        guard Self.libraryIsReady, let handle = curl_multi_init() else {
            throw HTTPClientError(.other, "libcurl cannot be initialised")
        }
        multi = Multi(handle: handle)
    }

    /// Starts the thread, which keeps the loop alive until it ends.
    func start() throws(HTTPClientError) {
        let context = Unmanaged.passRetained(self).toOpaque()
        #if canImport(Darwin)
            var id: pthread_t?
            let status = pthread_create(&id, nil, { CurlLoop.main($0) }, context)
        #else
            var id = pthread_t()
            let status = pthread_create(&id, nil, { $0.flatMap { CurlLoop.main($0) } }, context)
        #endif
        guard status == 0 else {
            Unmanaged<CurlLoop>.fromOpaque(context).release()
            state.withLock { $0.isRunning = false }
            curl_multi_cleanup(multi.handle)
            throw HTTPClientError(.other, "No thread for the HTTP client (error \(status))")
        }
        let started = id
        thread.withLock { $0 = started }
    }

    /// Leaves a command for the thread; a transfer that comes too late ends with `closed`.
    func submit(_ command: Command) {
        let accepted = state.withLock { state in
            guard state.isRunning, !state.isStopping else { return false }
            state.commands.append(command)
            curl_multi_wakeup(multi.handle)
            return true
        }
        if !accepted, case .add(let transfer) = command {
            transfer.finish(.failure(HTTPClientError(.closed, "The HTTP client is closed")))
        }
    }

    /// Ends all transfers, and the thread, which is waited for only if that is wanted; any number of calls count as one.
    func stop(waiting: Bool = true) {
        state.withLock { state in
            state.isStopping = true
            if state.isRunning { curl_multi_wakeup(multi.handle) }
        }
        guard let id = thread.withLock({ $0.take() }) else { return }
        if waiting {
            pthread_join(id, nil)
        } else {
            pthread_detach(id)
        }
    }

    // MARK: The thread

    private static func main(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        let loop = Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue()
        loop.run()
        return nil
    }

    private func run() {
        // libcurl leaves SIGPIPE alone on request (NOSIGNAL), and TLS libraries write without MSG_NOSIGNAL.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        DetachedThread.takeName()
        var active: [UnsafeMutableRawPointer: CurlTransfer] = [:]
        while true {
            let (commands, isStopping) = state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isStopping)
            }
            for command in commands { perform(command, &active) }
            if isStopping { break }

            var running: Int32 = 0
            curl_multi_perform(multi.handle, &running)
            var code = CURLE_OK
            while let easy = ps_curl_next_finished(multi.handle, &code) {
                // The entry goes after the handle has left the multi handle: it frees the handle.
                guard let transfer = active.removeValue(forKey: easy) else { continue }
                curl_multi_remove_handle(multi.handle, easy)
                if transfer.beginAgain(after: code, now: now()),
                    curl_multi_add_handle(multi.handle, easy) == CURLM_OK
                {
                    active[easy] = transfer
                } else {
                    transfer.finish(code)
                }
            }
            let wait = expire(&active)
            curl_multi_poll(multi.handle, nil, 0, wait, nil)
        }
        for (easy, transfer) in active {
            curl_multi_remove_handle(multi.handle, easy)
            transfer.transfer.finish(.failure(HTTPClientError(.closed, "The HTTP client is closed")))
        }
        active = [:]
        state.withLock { $0.isRunning = false }
        curl_multi_cleanup(multi.handle)
    }

    private func perform(_ command: Command, _ active: inout [UnsafeMutableRawPointer: CurlTransfer]) {
        switch command {
        case .add(let transfer):
            do {
                let curl = try CurlTransfer(transfer, now: now(), configuration: configuration)
                try Self.add(curl.easy, to: multi.handle)
                active[curl.easy] = curl
            } catch {
                transfer.finish(.failure(error))
            }
        case .resume(let transfer):
            active.values.first { $0.transfer === transfer }?.resume()
        case .remove(let transfer):
            guard let curl = active.values.first(where: { $0.transfer === transfer }) else { return }
            curl_multi_remove_handle(multi.handle, curl.easy)
            active[curl.easy] = nil
        }
    }

    /// Lets a handle of libcurl be driven by a multi handle; one that is refused would never come to an end.
    static func add(
        _ easy: UnsafeMutableRawPointer, to multi: UnsafeMutableRawPointer
    ) throws(HTTPClientError) {
        let code = curl_multi_add_handle(multi, easy)
        guard code != CURLM_OK else { return }
        throw HTTPClientError(
            .other, "libcurl refuses the request: \(String(cString: curl_multi_strerror(code)))")
    }

    /// Ends the transfers whose connection was silent for too long, or whose answer takes too long.
    ///
    /// - Parameter active: the transfers.
    /// - Returns: the milliseconds until the next one can be.
    private func expire(_ active: inout [UnsafeMutableRawPointer: CurlTransfer]) -> Int32 {
        let now = now()
        var next = now + .seconds(60)
        for (easy, transfer) in active {
            if let moment = transfer.tellSent(now: now) { next = min(next, moment) }
            let (moment, reason) = transfer.expiry(now: now)
            if moment <= now {
                curl_multi_remove_handle(multi.handle, easy)
                active[easy] = nil
                transfer.expire(reason)
            } else {
                next = min(next, moment)
            }
        }
        return Int32(((next - now) / .milliseconds(1)).rounded(.up))
    }
}
