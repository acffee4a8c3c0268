import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What is seen of a configuration before anything is sent.
struct HTTPClientConfigurationTests {
    private func failure(_ change: (inout HTTPClientConfiguration) -> Void) throws -> HTTPClientError {
        var configuration = HTTPClientConfiguration()
        change(&configuration)
        let made = configuration
        let error = #expect(throws: HTTPClientError.self) { try HTTPClient(made).close() }
        return try #require(error)
    }

    @Test func aFileThatIsNotThereIsNamed() throws {
        let folder = try TemporaryDirectory(prefix: "configuration-")
        let missing = folder.path + "/missing.pem"
        let there = HTTPClientConfiguration.PEM.file("/dev/null")
        let failures = [
            try failure { $0.authorities = .file(missing) },
            try failure { $0.identity = .init(certificate: .file(missing), key: there) },
            try failure { $0.identity = .init(certificate: there, key: .file(missing), password: "secret") },
        ]
        for error in failures {
            #expect(error.code == .unreadableFile)
            #expect(error.message == "\(missing): No such file or directory")
        }
    }

    @Test(arguments: ["", "no PEM"]) func aTextThatIsNoneIsSaidSo(_ text: String) throws {
        #expect(try failure { $0.authorities = .text(text) }.code == .badConfiguration)
        let own = HTTPClientConfiguration.PEM.file("/dev/null")
        let error = try failure { $0.identity = .init(certificate: own, key: .text("\(text)secret")) }
        #expect(error.code == .badConfiguration)
        #expect(!"\(error)".contains("secret"))
    }

    @Test func aTextThatIsGivenForAFileIsNotShown() throws {
        for text in ["-----BEGIN PRIVATE KEY----- secret", "secret\n"] {
            let error = try failure { $0.identity = .init(certificate: .file("/dev/null"), key: .file(text)) }
            #expect(error.code == .badConfiguration)
            #expect(!"\(error)".contains("secret"))
        }
    }

    @Test(arguments: [
        "proxy.example.com", "proxy.example.com:3128", "ftp://user:secret@proxy.example.com", "http://",
        "http://user:secret@proxy.example.com:1:1", "socks4://proxy.example.com",
    ])
    func anAddressThatIsNoProxysIsRefusedWithoutBeingShown(_ proxy: String) throws {
        let error = try failure { $0.proxy = proxy }
        #expect(error.code == .badConfiguration)
        #expect(error.message.contains("http, https or socks5"))
        #expect(!error.message.contains("secret"))
    }

    @Test(arguments: [
        "http://proxy.example.com:3128", "https://user:secret@proxy.example.com", "socks5://127.0.0.1",
        "socks5h://[::1]:1080", "",
    ])
    func anAddressOfAProxyIsTaken(_ proxy: String) throws {
        var configuration = HTTPClientConfiguration()
        configuration.proxy = proxy
        try configuration.check()
    }

    @Test func nothingSecretIsShown() {
        var configuration = HTTPClientConfiguration()
        configuration.proxy = "http://user:secret@proxy.example.com"
        configuration.identity = .init(certificate: .text("secret"), password: "secret")
        var dumped = ""
        dump(configuration, to: &dumped)
        for text in ["\(configuration)", String(reflecting: configuration), dumped] {
            #expect(!text.contains("secret"))
        }
    }
}
