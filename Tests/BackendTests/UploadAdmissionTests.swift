import PowerSyncBackend
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct UploadAdmissionTests {
    private let poller: Poller
    private let admission: UploadAdmission
    private let full: Int
    private let late = ContinuousClock.now + TestOptions.deadline

    init() throws {
        poller = try Poller()
        let configuration = BackendConfiguration.development()
        admission = UploadAdmission(configuration, poller: poller)
        full = configuration.bodyLimit
    }

    @Test func aUserCannotFillTheRoomForBodies() async throws {
        var uploads: [AdmittedUpload] = []
        uploads.append(try await admission.enter("u1", length: full, until: .now))
        uploads.append(try await admission.enter("u1", length: nil, until: .now))
        for length in [full, nil] {
            await #expect(throws: Budget.Refusal.tooLate) {
                try await admission.enter("u1", length: length, until: .now)
            }
        }
        // Small ones have places of their own.
        for _ in 0..<2 { uploads.append(try await admission.enter("u1", length: 1_000, until: .now)) }
        await #expect(throws: Budget.Refusal.tooLate) {
            try await admission.enter("u1", length: 1_000, until: .now)
        }
        uploads.append(try await admission.enter("u2", length: full, until: .now))
        #expect(admission.users == 2 && admission.unanswered("u1") == 4)
        #expect(uploads.count == 5)
        uploads = []
        #expect(admission.users == 0)
    }

    @Test func whoIsAnsweredEndsItsTurnAndKeepsWhatTheAnswerTakes() async throws {
        let upload = try await admission.enter("u1", length: full, until: .now)
        try await upload.takeTurn(until: .now)
        try await upload.takeMemory(100 << 20, until: .now)
        let next = try await admission.enter("u1", length: full, until: .now)
        await #expect(throws: Budget.Refusal.tooLate) { try await next.takeTurn(until: .now) }
        upload.endWork(keeping: 6 << 20)
        #expect(admission.memory.taken == 6 << 20 && admission.unanswered("u1") == 1)
        try await next.takeTurn(until: .now)
        await #expect(throws: Budget.Refusal.tooLate, "the answer has its place") {
            try await admission.enter("u1", length: full, until: .now)
        }
        withExtendedLifetime(upload) {}
    }

    @Test func whatIsLeftOfAnUploadGoesWithIt() async throws {
        do {
            let upload = try await admission.enter("u1", length: 10, until: .now)
            try await upload.takeTurn(until: .now)
            try await upload.takeMemory(100 << 20, until: .now)
            upload.endWork(keeping: 1_000)
            #expect(admission.memory.taken == 1_000 && admission.users == 1)
        }
        #expect(admission.memory.taken == 0 && admission.users == 0)
        let next = try await admission.enter("u1", length: 10, until: .now)
        try await next.takeTurn(until: .now)
    }
}
