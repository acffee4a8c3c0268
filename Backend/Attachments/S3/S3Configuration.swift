/// Where a bucket is and with which keys to use it.
package struct S3Configuration: Sendable, Hashable {
    /// Where the bucket stands in a URL.
    package enum Style: String, Sendable, Hashable {
        /// As the first segment of the path: `https://s3.example.com/bucket/key`.
        case path
        /// As the first name of the host: `https://bucket.s3.example.com/key`.
        case virtual
    }

    /// The server.
    package struct Endpoint: Sendable, Hashable {
        /// `http` or `https`.
        package var scheme: String
        /// A name, an IPv4 address, or an IPv6 address in brackets.
        package var host: String
        /// The port; nil for the one of the scheme.
        package var port: Int?

        /// Makes an endpoint of its parts.
        package init(scheme: String, host: String, port: Int? = nil) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }
    }

    /// Who signs.
    package struct Credentials: Sendable, Hashable {
        /// The name of the secret key, which is in every URL.
        package var accessKey: String
        /// What signatures are made with.
        package var secretKey: String
        /// What goes with keys that are lent for a while; nil for others.
        package var sessionToken: String?

        /// Makes credentials of their parts.
        package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
            self.accessKey = accessKey
            self.secretKey = secretKey
            self.sessionToken = sessionToken
        }
    }

    /// The bucket.
    package var bucket: String
    /// What all keys begin with, without slashes at its ends; empty for nothing.
    package var prefix: String
    /// The server.
    package var endpoint: Endpoint
    /// The region that signatures name.
    package var region: String
    /// Where the bucket stands in a URL.
    package var style: Style
    /// Who signs.
    package var credentials: Credentials

    /// Makes a configuration of its parts.
    package init(
        bucket: String, prefix: String = "", endpoint: Endpoint, region: String, style: Style,
        credentials: Credentials
    ) {
        self.bucket = bucket
        self.prefix = prefix
        self.endpoint = endpoint
        self.region = region
        self.style = style
        self.credentials = credentials
    }

    /// Signs a request for an object.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - key: the object, without the prefix.
    ///   - query: what the URL asks for beside the signature.
    ///   - fields: the header fields that are signed beside `host`, and must be sent as they are here.
    ///   - seconds: the time of the signature, since 1970.
    ///   - lifetime: for how many seconds it is good.
    /// - Returns: the URL.
    package func presigned(
        method: String, key: String, query: [(name: String, value: String)] = [],
        fields: [(name: String, value: String)] = [], at seconds: Int64, lifetime: Int64
    ) -> String {
        let name = prefix.isEmpty ? key : "\(prefix)/\(key)"
        let request = S3Signature.Request(
            method: method, scheme: endpoint.scheme,
            host: style == .virtual ? "\(bucket).\(endpoint.host)" : endpoint.host, port: endpoint.port,
            path: style == .virtual ? "/\(name)" : "/\(bucket)/\(name)", query: query, fields: fields)
        return S3Signature.presign(
            request, at: seconds, lifetime: lifetime, region: region, credentials: credentials)
    }
}

extension S3Configuration.Credentials: CustomStringConvertible, CustomReflectable {
    /// The access key alone.
    package var description: String { "the credentials of \(accessKey)" }

    /// Nothing: the keys are secrets.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
