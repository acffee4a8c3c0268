import PowerSyncSystem

/// What an environment says that is for development alone, beside what the configuration keeps of it.
struct DevelopmentSwitches {
    /// Whether the key may be one of this run alone.
    var hasEphemeralKeys = false
    /// Whether every published table may be written.
    var hasOpenSchema = false
    /// Whether other machines may reach what is for development.
    var isPublic = false
}

/// What no start is made with, although each setting is one by itself (Backend/Start/SPEC.md; backend 7, number 24).
extension BackendConfiguration {
    /// Notes what is refused.
    ///
    /// - Parameters:
    ///   - switches: what is said besides that is for development.
    ///   - isProduction: whether all of that is refused.
    ///   - problems: gets what is wrong.
    func refuse(
        _ switches: DevelopmentSwitches, isProduction: Bool, _ problems: inout SettingProblems
    ) {
        if bodyLimit > bodyMemory {
            problems.add(
                "MAX_BODY_BYTES",
                "is \(bodyLimit), and all bodies together have a quarter of UPLOAD_MEMORY_BYTES, \(bodyMemory): "
                    + "lower it, or raise UPLOAD_MEMORY_BYTES to at least \(4 * bodyLimit)")
        }
        refuseSwitches(switches, isProduction: isProduction, &problems)
        refuseNobody(isProduction: isProduction, &problems)
        if !acceptsSyncTokens, let audience = uploadAudiences.first(where: { tokenAudiences.contains($0) }) {
            problems.add(
                "UPLOAD_AUDIENCE",
                "must not be \(audience), whom tokens for the sync service are for: each of those could upload, which "
                    + "UPLOAD_ACCEPTS_SYNC_TOKEN=true would say")
        }
        guard isProduction else { return }
        if corsOrigins.contains("*") { problems.add("CORS_ORIGINS", "must name origins in production") }
        if case .disk = attachments?.store, attachments?.publicURL == nil {
            problems.add(
                "ATTACHMENTS_PUBLIC_URL",
                "is missing: where devices reach this backend, which serves the files of ATTACHMENTS_STORE itself"
            )
        }
    }

    /// Refuses what is for development in production, and elsewhere where other machines reach it without a word.
    private func refuseSwitches(
        _ switches: DevelopmentSwitches, isProduction: Bool, _ problems: inout SettingProblems
    ) {
        let all: [(name: String, isOn: Bool)] = [
            ("DEV_TOKENS", hasDevelopmentTokens), ("DEV_OPEN_UPLOADS", hasOpenUploads),
            ("DEV_OPEN_SCHEMA", switches.hasOpenSchema), ("DEV_EPHEMERAL_KEYS", switches.hasEphemeralKeys),
        ]
        let names = all.filter { $0.isOn }.map { $0.name }
        if isProduction {
            for name in names { problems.refuseInProduction(name) }
            if switches.isPublic { problems.refuseInProduction("DEV_PUBLIC") }
        } else if !names.isEmpty, !switches.isPublic, !IPAddress.isLoopback(host: host) {
            problems.add(
                "HOST",
                "is \(host), where other machines reach what is for development (\(names.joined(separator: ", "))): "
                    + "leave it at 127.0.0.1, or say DEV_PUBLIC=true if they shall")
        }
    }

    /// Refuses a backend that is of no use to anybody.
    private func refuseNobody(isProduction: Bool, _ problems: inout SettingProblems) {
        guard !authentication.letsAnybodyIn else { return }
        if isProduction {
            // Tokens of an audience of their own may be made by whoever has the key, or the next one, too.
            guard uploadAudiences.isEmpty else { return }
            problems.add(
                "AUTH_JWKS_URI",
                "is missing, and so are SESSION_SECRET and TRUSTED_USER_HEADER: nobody could sign in and get a token; "
                    + "where tokens are made elsewhere with the key of this backend say UPLOAD_AUDIENCE, theirs"
            )
        } else if acceptedAudiences.isEmpty, !hasOpenUploads {
            problems.add(
                "UPLOAD_AUDIENCE",
                "is missing, sync tokens are not accepted, and nobody can sign in (AUTH_JWKS_URI, SESSION_SECRET, "
                    + "TRUSTED_USER_HEADER): nobody could upload; DEV_TOKENS=true gives everybody a token that may"
            )
        }
    }
}

extension SettingProblems {
    /// Notes that a setting is for development alone.
    mutating func refuseInProduction(_ name: String) {
        add(name, "is refused in production; for development say ENV=development")
    }
}
