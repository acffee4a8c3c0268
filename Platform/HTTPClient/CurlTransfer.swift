import CPowerSyncCurl
import PowerSyncHTTP
import PowerSyncSystem

/// One easy handle of libcurl; lives on the loop's thread alone.
final class CurlTransfer {
    /// Why an exchange is given up.
    enum Expiry {
        /// The connection was silent.
        case silence
        /// The answer did not end in time.
        case answer
    }

    let transfer: Transfer
    let easy: UnsafeMutableRawPointer
    private let hasAuthorities: Bool
    /// The body that is read from a file.
    var file: FileBodyReader?
    /// How much of the body was told to have been sent, and when.
    var told: (bytes: Int64, moment: ContinuousClock.Instant)?
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>
    private var parser = HTTPHeadParser()
    private let start: ContinuousClock.Instant
    /// How many bytes the connection has accepted and brought, and when that was seen to grow.
    private var bytes: Int64 = 0
    private var lastByte: ContinuousClock.Instant
    /// When the connection was seen to have accepted the whole request, or to have brought the head of the answer.
    private var sent: ContinuousClock.Instant?
    /// Whether the connection has brought the head of the answer, which an interim answer (1xx) is not.
    private var hasHead = false
    private var isPaused = false
    /// Of the addresses that libcurl wanted to connect to.
    private var (accepted, rejected) = (0, 0)

    init(
        _ transfer: Transfer, now: ContinuousClock.Instant, configuration: HTTPClientConfiguration
    ) throws(HTTPClientError) {
        guard let easy = curl_easy_init() else { throw HTTPClientError(.other, "libcurl has no memory") }
        self.transfer = transfer
        self.easy = easy
        hasAuthorities = configuration.authorities != nil
        start = now
        lastByte = now
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try configure(transfer.request, configuration)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
        errorText.deallocate()
    }

    /// Lets libcurl deliver again.
    func resume() {
        guard isPaused else { return }
        isPaused = false
        curl_easy_pause(easy, CURLPAUSE_CONT)
    }

    /// Returns when the exchange has to be given up, and why then.
    ///
    /// Asked at every turn of the loop, so that a byte counts from the turn in which it went or came.
    func expiry(now: ContinuousClock.Instant) -> (moment: ContinuousClock.Instant, reason: Expiry) {
        let bytesNow = Int64(ps_curl_bytes(easy))
        if bytesNow != bytes {
            bytes = bytesNow
            lastByte = now
        }
        let silence = silenceEnd(now: now)
        let request = transfer.request
        guard let limit = request.answerTimeout else { return (silence, .silence) }
        let body = curl_off_t(request.bodyLength)
        if sent == nil, hasHead || ps_curl_is_sent(easy, body) != 0 { sent = now }
        guard let answer = sent.map({ $0 + limit }), answer < silence else { return (silence, .silence) }
        return (answer, .answer)
    }

    /// Returns when the connection has been silent for too long.
    ///
    /// While nobody reads that is never: silence begins again when somebody does.
    private func silenceEnd(now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        guard let since = transfer.awaitedSince else { return now + transfer.request.idleTimeout }
        return max(lastByte, since) + transfer.request.idleTimeout
    }

    /// Prepares the handle for sending everything once more, if it went to a connection that the server had closed already.
    ///
    /// libcurl itself does that where reading fails first; whether it is reading or sending is a matter of chance.
    ///
    /// - Parameters:
    ///   - code: how the transfer ended.
    ///   - now: the time.
    /// - Returns: whether the handle is to be driven again.
    func beginAgain(after code: CURLcode, now: ContinuousClock.Instant) -> Bool {
        guard code == CURLE_SEND_ERROR, let file, file.failure == nil, file.isRewindable,
            ps_curl_is_lost_on_kept(easy) != 0,
            ps_curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) == CURLE_OK
        else { return false }
        if let total = transfer.request.totalTimeout {
            let left = total - (now - start)
            guard left > .zero,
                ps_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Self.milliseconds(left)) == CURLE_OK
            else { return false }
        }
        errorText[0] = 0
        bytes = 0
        lastByte = now
        return true
    }

    /// Tells the task that the exchange was given up.
    func expire(_ reason: Expiry) {
        tellTheLastSent()
        let request = transfer.request
        let error: HTTPClientError
        switch reason {
        case .silence: error = HTTPClientError(.silent, "Nothing came or went for \(request.idleTimeout)")
        case .answer:
            let limit = request.answerTimeout ?? .zero
            error = HTTPClientError(
                .timedOut, "The answer was not complete \(limit) after the request had gone out")
        }
        transfer.finish(.failure(error))
    }

    /// Tells the task how the transfer ended.
    func finish(_ code: CURLcode) {
        tellTheLastSent()
        if code == CURLE_OK {
            transfer.finish(.success(()))
        } else if let failure = file?.failure {
            transfer.finish(.failure(failure))
        } else if rejected > 0, accepted == 0 {
            transfer.finish(
                .failure(
                    HTTPClientError(
                        .rejectedAddress, "Every address of the host is one that must not be connected to")))
        } else {
            let failure = CurlFailure(
                code: code, detail: String(cString: errorText),
                connectStatus: ps_curl_connect_status(easy), verifyResult: ps_curl_verify_result(easy),
                hasAuthorities: hasAuthorities)
            transfer.finish(.failure(failure.error))
        }
    }

    // MARK: Options

    private func configure(
        _ request: HTTPClientRequest, _ configuration: HTTPClientConfiguration
    ) throws(HTTPClientError) {
        let target = try CurlTarget(request.url)
        try CurlTarget.check(method: request.method, fields: request.fields)
        let context = Unmanaged.passUnretained(self).toOpaque()
        var codes = [
            ps_curl_set_string(easy, CURLOPT_URL, request.url),
            ps_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
            ps_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            ps_curl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            // What a proxy says to CONNECT is not the head of the answer.
            ps_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            // A name that is still being looked up must not hold up the cancelling of its transfer.
            ps_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1),
            ps_curl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
            ps_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(request.connectTimeout)),
            ps_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText),
            ps_curl_set_pointer(easy, CURLOPT_HEADERDATA, context),
            ps_curl_set_pointer(easy, CURLOPT_WRITEDATA, context),
            ps_curl_set_callback(easy, CURLOPT_HEADERFUNCTION) { data, size, count, context in
                CurlTransfer.from(context)?.receiveHeader(
                    UnsafeRawBufferPointer(start: data, count: size * count))
                return size * count
            },
            ps_curl_set_callback(easy, CURLOPT_WRITEFUNCTION) { data, size, count, context in
                let bytes = UnsafeRawBufferPointer(start: data, count: size * count)
                return CurlTransfer.from(context)?.receiveBody(bytes) == true
                    ? size * count : Int(CURL_WRITEFUNC_PAUSE)
            },
        ]
        codes += setProxy(configuration, isLoopback: target.isLoopback)
        codes += setCertificates(configuration)
        if !request.rejectedAddresses.isEmpty { codes += checkAddresses(context) }
        if let total = request.totalTimeout {
            codes.append(ps_curl_set_long(easy, CURLOPT_TIMEOUT_MS, Self.milliseconds(total)))
        }
        if let body = request.file { file = try FileBodyReader(body) }
        codes += method(request, context)
        // libcurl would wait for a "100 Continue" and would call every body a form.
        var lines = ["Expect:"]
        if request.fields["content-type"] == nil { lines.append("Content-Type:") }
        for (name, value) in request.fields { lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)") }
        for line in lines {
            guard let longer = curl_slist_append(headers, line) else {
                throw HTTPClientError(.other, "libcurl has no memory")
            }
            headers = longer
        }
        codes.append(ps_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headers))
        if let failed = codes.first(where: { $0 != CURLE_OK }) {
            throw CurlFailure(code: failed).error
        }
    }

    /// Has libcurl ask for each address, after the name was looked up and before anything goes to it.
    private func checkAddresses(_ context: UnsafeMutableRawPointer) -> [CURLcode] {
        [
            // A connection that is kept may be another request's, which did not ask.
            ps_curl_set_long(easy, CURLOPT_FRESH_CONNECT, 1),
            ps_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, context),
            ps_curl_set_open_socket(easy) { context, _, address in
                guard let address, let transfer = CurlTransfer.from(context),
                    transfer.mayConnect(to: IPAddress(ps_curl_address(address)))
                else { return CURL_SOCKET_BAD }
                return ps_curl_socket(address)
            },
        ]
    }

    private func mayConnect(to address: IPAddress?) -> Bool {
        guard let address, !transfer.request.rejectedAddresses.contains(address) else {
            rejected += 1
            return false
        }
        accepted += 1
        return true
    }

    private func method(_ request: HTTPClientRequest, _ context: UnsafeMutableRawPointer) -> [CURLcode] {
        if request.method == "HEAD" { return [ps_curl_set_long(easy, CURLOPT_NOBODY, 1)] }
        var codes: [CURLcode] = []
        if let body = request.file {
            codes += upload(body, context)
        } else if let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? [] : nil) {
            codes.append(ps_curl_set_long(easy, CURLOPT_POST, 1))
            codes.append(ps_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
            codes.append(
                body.withUnsafeBytes { bytes in
                    // libcurl copies as many bytes as were said before; it wants a pointer even for none.
                    bytes.isEmpty
                        ? ps_curl_set_string(easy, CURLOPT_COPYPOSTFIELDS, "")
                        : ps_curl_set_pointer(
                            easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                        )
                })
        }
        codes.append(ps_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method))
        return codes
    }

    /// Whole milliseconds, at least one: libcurl reads 0 as "no limit".
    private static func milliseconds(_ duration: Duration) -> Int {
        max(1, Int((duration / .milliseconds(1)).rounded(.up)))
    }

    // MARK: Callbacks

    /// Returns the transfer that libcurl hands back.
    static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) {
        guard let head = parser.append(bytes) else { return }
        hasHead = true
        transfer.receive(head)
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let taken = transfer.receive(bytes)
        isPaused = !taken
        return taken
    }
}
