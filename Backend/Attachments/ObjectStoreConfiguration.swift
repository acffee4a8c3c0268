import PowerSyncHTTP

/// Which store the attachments are in (`ATTACHMENTS_STORE`).
package enum ObjectStoreConfiguration: Sendable, Hashable {
    /// A folder of this machine; the backend serves its URLs.
    case disk(folder: String)
    /// A bucket of a service that speaks as S3 does.
    case s3(S3Configuration)

    /// The variable that says which.
    package static let variable = "ATTACHMENTS_STORE"
    /// The variable of the access key.
    package static let accessKeyVariable = "ATTACHMENTS_S3_ACCESS_KEY"
    /// The variable of the secret key.
    package static let secretKeyVariable = "ATTACHMENTS_S3_SECRET_KEY"
    /// The variable of the session token.
    package static let sessionTokenVariable = "ATTACHMENTS_S3_SESSION_TOKEN"

    /// Reads `file:///FOLDER` or
    /// `s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION&style=path|virtual`.
    ///
    /// Without an endpoint it is that of AWS in the region, us-east-1 unless said otherwise, in the style of virtual
    /// hosts; with one the style is `path` unless said otherwise.
    ///
    /// - Parameters:
    ///   - url: the value of `ATTACHMENTS_STORE`.
    ///   - variables: the environment, with the keys of S3.
    /// - Throws: `BackendError` with `.configuration`, naming the variable and never its value.
    package init(url: String, environment variables: [String: String]) throws(BackendError) {
        if url.hasPrefix("file:") {
            self = .disk(folder: try Self.folder(url))
        } else if url.hasPrefix("s3://") {
            self = .s3(try Self.bucket(url, Self.credentials(variables)))
        } else {
            throw .setting(
                Self.variable,
                "must be file:///FOLDER or s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
        }
    }

    // MARK: The disk

    private static func folder(_ url: String) throws(BackendError) -> String {
        guard url.hasPrefix("file:///") else {
            throw .setting(
                variable, "must name a folder from the root on: file:///var/lib/powersync/attachments")
        }
        let rest = url.dropFirst("file://".count)
        guard !rest.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            throw .setting(variable, "has something behind the folder: write ? as %3F and # as %23")
        }
        guard var path = PercentEncoding.decode(rest), !path.utf8.contains(0) else {
            throw .setting(variable, "is not encoded as a URL: write % as %25")
        }
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard path != "/" else { throw .setting(variable, "must not be the root of the file system") }
        return path
    }

    // MARK: S3

    private static func credentials(
        _ variables: [String: String]
    ) throws(BackendError) -> S3Configuration.Credentials {
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let accessKey = value(accessKeyVariable) else {
            throw .setting(accessKeyVariable, "is missing: a store at s3:// needs it")
        }
        guard let secretKey = value(secretKeyVariable) else {
            throw .setting(secretKeyVariable, "is missing: a store at s3:// needs it")
        }
        return S3Configuration.Credentials(
            accessKey: accessKey, secretKey: secretKey, sessionToken: value(sessionTokenVariable))
    }

    private static func bucket(
        _ url: String, _ credentials: S3Configuration.Credentials
    ) throws(BackendError) -> S3Configuration {
        let parts = url.dropFirst("s3://".count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let options = try options(parts.count > 1 ? parts[1] : "")
        let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let bucket = String(place[0])
        guard !bucket.contains("@") else {
            throw .setting(
                variable, "must not hold keys: set \(accessKeyVariable) and \(secretKeyVariable)")
        }
        guard (3...63).contains(bucket.utf8.count), bucket.utf8.allSatisfy(isBucketByte),
            let first = bucket.utf8.first, let last = bucket.utf8.last, isLetterOrDigit(first),
            isLetterOrDigit(last)
        else {
            throw .setting(
                variable,
                "names no bucket: 3 to 63 lower-case letters, digits, - and ., neither of these at its ends")
        }
        let region = options["region"] ?? "us-east-1"
        guard !region.isEmpty, region.utf8.allSatisfy({ isLetterOrDigit($0) || $0 == UInt8(ascii: "-") })
        else { throw .setting(variable, "has a region that is none, such as eu-central-1") }
        var server = S3Configuration.Endpoint(scheme: "https", host: "s3.\(region).amazonaws.com")
        if let text = options["endpoint"] { server = try endpoint(text) }
        let style = try style(options["style"]) ?? (options["endpoint"] == nil ? .virtual : .path)
        guard style == .path || server.scheme == "http" || !bucket.contains(".") else {
            throw .setting(
                variable, "needs style=path: no certificate is for a bucket with a dot in front of the host")
        }
        return S3Configuration(
            bucket: bucket, prefix: try prefix(place.count > 1 ? place[1] : ""), endpoint: server,
            region: region, style: style, credentials: credentials)
    }

    private static func options(_ query: Substring) throws(BackendError) -> [String: String] {
        var options: [String: String] = [:]
        for (name, value) in PercentEncoding.decodeForm(query) {
            guard ["endpoint", "region", "style"].contains(name) else {
                throw .setting(variable, "knows endpoint, region and style behind the ?, and nothing else")
            }
            guard options.updateValue(value, forKey: name) == nil else {
                throw .setting(variable, "says \(name) twice")
            }
        }
        return options
    }

    private static func style(_ text: String?) throws(BackendError) -> S3Configuration.Style? {
        guard let text else { return nil }
        guard let style = S3Configuration.Style(rawValue: text) else {
            throw .setting(variable, "has a style other than path and virtual")
        }
        return style
    }

    private static func prefix(_ text: Substring) throws(BackendError) -> String {
        var prefix = text
        while prefix.hasSuffix("/") { prefix.removeLast() }
        guard prefix.isEmpty || ObjectKey.isValid(String(prefix)) else {
            throw .setting(
                variable, "has a prefix of other than letters, digits, _ and -, with single slashes between")
        }
        return String(prefix)
    }

    private static func endpoint(_ text: String) throws(BackendError) -> S3Configuration.Endpoint {
        let schemes = ["http", "https"]
        guard let scheme = schemes.first(where: { text.hasPrefix("\($0)://") }) else {
            throw .setting(variable, "has an endpoint that does not begin with http:// or https://")
        }
        var rest = text.dropFirst(scheme.count + 3)
        if rest.hasSuffix("/") { rest.removeLast() }
        let (host, port) = hostAndPort(rest)
        guard !host.isEmpty, host.utf8.allSatisfy(isHostByte),
            !host.contains(":") || host.hasPrefix("[") && host.hasSuffix("]")
        else {
            throw .setting(
                variable, "has an endpoint that is more or less than a host with or without a port")
        }
        guard let port else { return S3Configuration.Endpoint(scheme: scheme, host: String(host)) }
        guard let number = Int(port), (1...65_535).contains(number), String(number) == port else {
            throw .setting(variable, "has an endpoint whose port is no number from 1 to 65535")
        }
        return S3Configuration.Endpoint(scheme: scheme, host: String(host), port: number)
    }

    /// Cuts at the last colon, unless that stands in an IPv6 address.
    private static func hostAndPort(_ text: Substring) -> (host: Substring, port: Substring?) {
        guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else { return (text, nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isBucketByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        isBucketByte(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ":")
    }
}
