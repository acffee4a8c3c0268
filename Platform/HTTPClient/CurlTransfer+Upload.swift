import CPowerSyncCurl

/// The body of a request: where libcurl gets it from, and how much of it has gone.
extension CurlTransfer {
    /// How often is told how much has been sent.
    private static let pause = Duration.milliseconds(100)

    /// Has libcurl ask for the body as it sends it.
    ///
    /// - Parameters:
    ///   - body: the region of the file that is open.
    ///   - context: this transfer, for the callbacks.
    /// - Returns: the results of the options.
    func upload(_ body: HTTPFileBody, _ context: UnsafeMutableRawPointer) -> [CURLcode] {
        [
            ps_curl_set_long(easy, CURLOPT_UPLOAD, 1),
            ps_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.length)),
            // One turn of the loop for each: with the usual 64 KiB there would be four times as many.
            ps_curl_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10),
            ps_curl_set_pointer(easy, CURLOPT_READDATA, context),
            ps_curl_set_callback(easy, CURLOPT_READFUNCTION) { data, size, count, context in
                let buffer = UnsafeMutableRawBufferPointer(start: data, count: size * count)
                return CurlTransfer.from(context)?.file?.read(into: buffer) ?? Int(CURL_READFUNC_ABORT)
            },
            // libcurl asks for the beginning where it has sent something in vain, and takes it for granted otherwise, although
            // what it could not send was read.
            ps_curl_set_pointer(easy, CURLOPT_SEEKDATA, context),
            ps_curl_set_seek(easy) { context, _, _ in
                let isRewindable = CurlTransfer.from(context)?.file?.isRewindable == true
                return isRewindable ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            },
            ps_curl_set_pointer(easy, CURLOPT_PREREQDATA, context),
            ps_curl_set_before_request(easy) { context, _, _, _, _ in
                CurlTransfer.from(context)?.file?.rewind()
                return CURL_PREREQFUNC_OK
            },
        ]
    }

    /// Tells how much of the body has been sent, if that is new and was not told just now.
    ///
    /// - Parameter now: the time.
    /// - Returns: when there is something to tell; nil if there is nothing now.
    func tellSent(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let onSent = transfer.request.onSent else { return nil }
        let bytes = Int64(ps_curl_sent(easy))
        guard bytes != told?.bytes ?? 0 else { return nil }
        if let told, bytes < transfer.request.bodyLength, now < told.moment + Self.pause {
            return told.moment + Self.pause
        }
        told = (bytes, now)
        onSent(bytes)
        return nil
    }

    /// Tells how much was sent in the end, unless that was told.
    func tellTheLastSent() {
        guard let onSent = transfer.request.onSent else { return }
        let bytes = Int64(ps_curl_sent(easy))
        if bytes != told?.bytes { onSent(bytes) }
    }
}
