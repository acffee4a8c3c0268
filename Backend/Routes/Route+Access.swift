extension Route {
    /// What a route asks for, whatever its path names.
    package enum Kind: String, Sendable, CaseIterable {
        /// Transactions.
        case upload
        /// One operation.
        case operation
        /// A checkpoint that the server counts.
        case checkpoint
        /// A checkpoint that the client counts.
        case checkpointRequest
        /// A token.
        case token
        /// The public keys.
        case keys
        /// What the backend can do.
        case capabilities
        /// Whether there is one.
        case greeting
        /// Whether it runs.
        case liveness
        /// Whether it can work.
        case readiness
        /// Whether it has started.
        case startup
        /// What was refused.
        case rejections
        /// To have seen what was refused.
        case acknowledgement
        /// Attachments.
        case attachment
        /// The bytes of one.
        case blob
        /// What a page may ask for.
        case preflight
    }

    /// Who is answered on a route.
    package enum Access: Sendable, Hashable {
        /// Everybody, whatever is shown: nothing of it is anybody's.
        case everybody
        /// Whoever has a URL that is signed for the request, whatever else is shown.
        case signature
        /// Whoever signs in for this use.
        case principal(Authentication.Use)
    }

    /// What it asks for.
    package var kind: Kind {
        switch self {
        case .upload: .upload
        case .operation: .operation
        case .checkpoint: .checkpoint
        case .checkpointRequest: .checkpointRequest
        case .token: .token
        case .keys: .keys
        case .capabilities: .capabilities
        case .greeting: .greeting
        case .liveness: .liveness
        case .readiness: .readiness
        case .startup: .startup
        case .rejections: .rejections
        case .acknowledgement: .acknowledgement
        case .attachment: .attachment
        case .blob: .blob
        case .preflight: .preflight
        }
    }

    /// Who is answered on it.
    package var access: Access { kind.access }
}

extension Route.Kind {
    /// Who is answered on routes of this kind (Backend/Authentication/SPEC.md).
    package var access: Route.Access {
        switch self {
        case .keys, .capabilities, .greeting, .liveness, .readiness, .startup, .preflight: .everybody
        case .blob: .signature
        case .token: .principal(.token)
        case .upload, .operation, .checkpoint, .checkpointRequest, .rejections, .acknowledgement:
            .principal(.uploads)
        case .attachment: .principal(.attachments)
        }
    }
}
