import PowerSyncSystem

/// Where keys are fetched, taken apart as far as rules ask.
struct KeysURL {
    /// Whether it begins with https://.
    let isEncrypted: Bool
    /// Whether it holds a user or a password.
    let hasCredentials: Bool
    /// The name or address, without a port.
    let host: String

    /// Takes a URL apart; nil for what is none of HTTP.
    init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"\"<>\\".utf8.contains($0) }),
            let mark = text.firstRange(of: "://")
        else { return nil }
        switch text[..<mark.lowerBound].lowercased() {
        case "https": isEncrypted = true
        case "http": isEncrypted = false
        default: return nil
        }
        let authority = text[mark.upperBound...].prefix { !["/", "?", "#"].contains($0) }
        hasCredentials = authority.contains("@")
        guard let last = authority.split(separator: "@", omittingEmptySubsequences: false).last,
            let host = HostPolicy.name(String(last))
        else { return nil }
        self.host = host
    }

    /// Whether it leads to this machine, whatever a server of names says.
    var isLoopback: Bool { IPAddress.isLoopback(host: host) }
}
