import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The README's examples of syncing are this code, and it runs; its first program is run by Scripts/outside-package.sh,
/// and beside the servers by `ReadmeStepsTests`.
@Suite(.patient())
struct ReadmeTests {
    /// The app's own account, in which nobody is signed in.
    private final class Account: Sendable {
        private let count = Lock(0)

        /// How often it was asked.
        var asked: Int { count.withLock { $0 } }

        var authorization: String? {
            get async {
                count.withLock { $0 += 1 }
                return nil
            }
        }
    }

    /// The example; `account` and `print` are the caller's.
    private func example(
        file: String, account: Account, print: @Sendable ([String]) -> Void
    ) async throws -> any PowerSyncDatabaseProtocol {
        let schema = Schema(
            Table(name: "lists", columns: [.text("owner_id"), .text("name")])
        )
        let database = PowerSyncDatabase(schema: schema, dbFilename: file)
        try await database.execute("INSERT INTO lists (id, owner_id, name) VALUES (uuid(), 'alice', 'Books')")
        // begin
        let connector = BackendConnector(
            url: "https://api.example.com", session: { await account.authorization })
        try await database.connect(connector: connector, options: ConnectOptions())

        let lists = try database.watch(
            "SELECT name FROM lists", mapper: { try $0.getString(index: 0) })
        for try await names in lists {
            print(names)
        }
        // end
        return database
    }

    @Test func exampleRuns() async throws {
        let folder = try TemporaryDirectory()
        let printed = Lock<[[String]]>([])
        let account = Account()
        // The loop of the example goes on until its task is cancelled.
        let running = Task {
            try await example(file: folder.file(), account: account) { names in
                printed.withLock { $0.append(names) }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        let database = try await running.value
        #expect(printed.withLock { $0 } == [["Books"]])
        // Nothing is sent for nobody, so that the address of the example is asked for nothing.
        try await wait(for: "the account to be asked") { account.asked > 0 }
        try await database.close()
    }

    /// The example of a proxy and of certificates; `account` is the caller's.
    private func transportExample(account: Account) -> (BackendConnector, ConnectOptions) {
        // begin transport
        let transport = TransportOptions(
            proxy: "http://user:password@proxy.example.com:3128",
            certificateAuthorities: .file("/etc/app/authority.pem"),
            clientCertificate: .init(
                certificate: .file("/etc/app/client.pem"), key: .file("/etc/app/client.key")))
        let connector = BackendConnector(
            url: "https://api.example.com", session: { await account.authorization }, transport: transport)
        let options = ConnectOptions(clientConfiguration: SyncClientConfiguration(transport: transport))
        // end transport
        return (connector, options)
    }

    @Test func transportExampleSaysWhatItMeans() {
        let (connector, options) = transportExample(account: Account())
        #expect(connector.description == "BackendConnector(url: https://api.example.com)")
        #expect(
            options.clientConfiguration?.transport?.description == """
                TransportOptions(proxy: http://proxy.example.com:3128, \
                certificateAuthorities: /etc/app/authority.pem, clientCertificate: /etc/app/client.pem)
                """)
    }

    /// What the README shows is built and run: the reference shows nothing else.
    @Test func codeInTheReferenceIsThatOfTheReadme() throws {
        let readme = try Repository.text("README.md")
        let blocks = try Repository.text("Documentation/PowerSync.docc/PowerSync.md")
            .components(separatedBy: "\n```").filter { $0.hasPrefix("swift\n") }
        #expect(blocks.count == 2)
        for block in blocks { #expect(readme.contains(block.dropFirst("swift".count) + "\n"), "\(block)") }
    }

    @Test(arguments: [("", "for try await names in lists"), (" transport", "TransportOptions(")])
    func readmeShowsThisCodeAndNothingElse(_ name: String, _ call: String) throws {
        let source = try Repository.text("Tests/ClientTests/ReadmeTests.swift")
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        let begin = try #require(lines.firstIndex { $0.hasSuffix("// begin\(name)") })
        let end = try #require(lines.firstIndex { $0.hasSuffix("// end\(name)") })
        let code = lines[(begin + 1)..<end].map { $0.dropFirst(8) }
        let shown = try Repository.text("README.md").components(separatedBy: "\n```").dropFirst()
            .filter { $0.hasPrefix("swift\n") && $0.contains(call) }
        #expect(shown.count == 1)
        let shownLines = shown.first?.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        #expect(shownLines.map(Array.init) == Array(code))
    }
}
