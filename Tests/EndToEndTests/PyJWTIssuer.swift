import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// PyJWT as a provider of tokens, with keys of its own, and as a reader of ours (`Scripts/pyjwt-issuer.py`).
///
/// It ends with these tests, however they end.
final class PyJWTIssuer: Sendable {
    /// Whether tests of it run: where it is installed, and where it must be (`POWERSYNC_PEERS=required`), so that they
    /// fail.
    static let isWanted = isInstalled || ProcessInfo.processInfo.environment["POWERSYNC_PEERS"] == "required"

    private static let isInstalled = FileManager.default.contentsEqual(
        atPath: Repository.root.appending(path: "Scripts/peers-requirements.txt").path,
        andPath: Repository.root.appending(path: ".build/peers/peers-requirements.txt").path)

    /// Who makes its tokens, as they say.
    static let name = "https://id.example.com"
    /// Whom they are for.
    static let audience = "todos-app"
    /// How it signs them.
    static let algorithms = ["ES256", "RS256", "EdDSA"]

    /// Where its keys are.
    let keysURL: String
    private let driven: DrivenProcess
    private let lastID = Lock(0)

    /// Starts it.
    init() async throws {
        let root = Repository.root
        // No proxy of the environment is for this machine.
        let environment = ProcessInfo.processInfo.environment.filter {
            ["PATH", "LD_LIBRARY_PATH"].contains($0.key)
        }
        let driven = try DrivenProcess(
            program: root.appending(path: ".build/peers/bin/python3").path,
            [root.appending(path: "Scripts/pyjwt-issuer.py").path], environment: environment)
        let first = try await wait(
            for: "PyJWT", read: { driven.all.first }, until: { $0 != nil || driven.process.hasEnded })
        keysURL = try #require(first?["keys"]?.stringValue, "PyJWT did not start: make peers installs it")
        self.driven = driven
    }

    /// Signs a token.
    ///
    /// - Parameters:
    ///   - subject: its user.
    ///   - algorithm: how it is signed.
    ///   - lifetime: for how many seconds it is good.
    ///   - changes: claims in place of the usual ones, or besides.
    /// - Returns: the token.
    /// - Throws: what ends a test, if it does not answer.
    func token(
        _ subject: String, _ algorithm: String = "ES256", lifetime: Int = 300, changes: [JSONMember] = []
    ) async throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        let names = changes.map(\.name)
        let usual = [
            JSONMember("iss", .string(Self.name)), JSONMember("aud", .string(Self.audience)),
            JSONMember("sub", .string(subject)), JSONMember("iat", .integer(now + min(0, lifetime - 300))),
            JSONMember("exp", .integer(now + lifetime)),
        ]
        let claims = usual.filter { !names.contains($0.name) } + changes
        let answer = try await ask([
            JSONMember("sign", .object(claims)), JSONMember("algorithm", .string(algorithm)),
        ])
        return try #require(answer["token"]?.stringValue, "\(answer.text)")
    }

    /// Reads a token of others.
    ///
    /// - Parameters:
    ///   - token: the token.
    ///   - keys: where the keys of its maker are.
    ///   - audience: whom it must be for.
    ///   - issuer: who must have made it.
    /// - Returns: the answer: `claims`, or `error` with the name of what PyJWT objects.
    /// - Throws: what ends a test, if it does not answer.
    func reading(of token: String, keys: String, audience: String, issuer: String) async throws -> JSON {
        try await ask([
            JSONMember("verify", .string(token)), JSONMember("keys", .string(keys)),
            JSONMember("audience", .string(audience)), JSONMember("issuer", .string(issuer)),
        ])
    }

    private func ask(_ members: [JSONMember]) async throws -> JSON {
        let id = lastID.withLock { last -> Int in
            last += 1
            return last
        }
        return try await driven.ask(JSON.object([JSONMember("id", .integer(id))] + members).text)
    }
}
