import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What is remembered of tokens (Backend/Authentication/SPEC.md).
struct VerifiedTokensTests {
    private static let now = SignIn.now
    private let tokens = VerifiedTokens()

    private func principal(
        _ subject: String, _ kind: Principal.Kind = .provider, end: Double = now + 600
    ) throws -> Principal {
        let claims = JSON.object([
            JSONMember("sub", .string(subject)), JSONMember("exp", .number("\(Int(end))")),
        ])
        return try #require(Principal(subject: subject, claims: claims, kind: kind))
    }

    private func remember(
        _ token: String, _ kind: Principal.Kind = .provider, generation: Int = 1, current: Int = 1
    ) throws {
        tokens.remember(try principal(token, kind), token, generation: generation, current: current)
    }

    private func found(
        _ token: String, _ kind: Principal.Kind = .provider, generation: Int = 1, now: Double = now
    ) -> String? {
        tokens.principal(token, kind, generation: generation, now: now)?.subject
    }

    @Test func whatWasVerifiedIsFoundAndNothingElse() throws {
        #expect(found("a") == nil)
        try remember("a")
        #expect(found("a") == "a" && found("A") == nil && found("") == nil)
        #expect(found("a", .session) == nil && found("a", .own) == nil, "each kind for itself")
    }

    @Test func forgottenAtTheEnd() throws {
        try remember("a")
        #expect(found("a", now: Self.now + 659) == "a")
        #expect(found("a", now: Self.now + 660) == nil)
        #expect(tokens.count == 0 && found("a") == nil)
    }

    @Test func forgottenWithTheKeys() throws {
        try remember("a")
        try remember("b")
        try remember("s", .session, generation: 0, current: 0)
        #expect(found("x", generation: 2) == nil)
        #expect(tokens.count == 1, "those of the kind are gone, whoever was asked for")
        #expect(found("a", generation: 2) == nil && found("a", generation: 1) == nil)
        #expect(found("s", .session, generation: 0) == "s")
        // What was begun under the former keys is not remembered.
        try remember("c", generation: 1, current: 2)
        try remember("c", generation: 1, current: 1)
        #expect(found("c", generation: 2) == nil && tokens.count == 1)
        try remember("c", generation: 2, current: 2)
        #expect(found("c", generation: 2) == "c")
    }

    @Test func neverMoreThanTenThousand() throws {
        for number in 0..<25_000 {
            try remember("t\(number)")
            // What is used stays.
            if number.isMultiple(of: 1_000) { #expect(found("t0") == "t0", "\(number)") }
            if tokens.count > VerifiedTokens.most {
                Issue.record("\(tokens.count) behind \(number)")
                return
            }
        }
        #expect(tokens.count >= VerifiedTokens.most / 2 - 1)
        #expect(found("t24999") == "t24999" && found("t1") == nil)
    }

    @Test func theSameTokenIsOneEntry() throws {
        for _ in 0..<10 { try remember("a") }
        #expect(tokens.count == 1)
    }

    @Test func withoutAnEndNothingIsRemembered() throws {
        let claims = JSON.object([JSONMember("sub", .string("p"))])
        let proxied = try #require(Principal(subject: "p", claims: claims, kind: .proxy))
        tokens.remember(proxied, "p", generation: 0, current: 0)
        #expect(tokens.count == 0)
    }
}
