import PowerSyncHTTP
import PowerSyncSystem

/// A body that is handed over piece by piece.
extension RequestBody {
    func next(limit: Int) async throws(HTTPError) -> [UInt8]? {
        precondition(limit > 0, "a piece has at least one byte")
        let known = try claimRest()
        do throws(HTTPError) {
            var course: BodyCourse
            if let known {
                course = known.course
                course.leaveOut(known.handedOver.duration(to: .now))
            } else {
                course = try await begin()
            }
            while course.pending.isEmpty, !course.isComplete { try await read(limit, &course) }
            let piece = course.handOver(limit)
            // What comes next finds its room behind those that hold some, for it holds none while it waits.
            if course.pending.isEmpty { release() }
            state.withLock { $0 = .between(course, handedOver: .now) }
            return piece
        } catch {
            release()
            state.withLock { $0 = .failed }
            throw error
        }
    }

    /// Looks at what has come with the head, and asks the client for the body if it waits for that.
    private func begin() async throws(HTTPError) -> BodyCourse {
        var course = BodyCourse(connection.configuration, length: announced, now: .now)
        try take(&course)
        guard course.pending.isEmpty, !course.isComplete, head.expectsContinue else { return course }
        let before = ContinuousClock.now
        try await connection.sendContinue()
        course.leaveOut(before.duration(to: .now))
        return course
    }

    /// Waits for room and for more of the body.
    private func read(_ limit: Int, _ course: inout BodyCourse) async throws(HTTPError) {
        // Nothing of the next request is read where the length is known.
        let most = min(limit, Self.step, course.left ?? .max)
        if most > Self.freeBytes, !hasRoom {
            let before = ContinuousClock.now
            try await takeRoom(most - Self.freeBytes, until: before + connection.configuration.bodyWait)
            course.leaveOut(before.duration(to: .now))
        }
        try await connection.readBody(most, until: course.deadline)
        try take(&course)
    }

    private func take(_ course: inout BodyCourse) throws(HTTPError) {
        var bytes: [UInt8] = []
        let isLast = try connection.takeBody(into: &bytes, limit: .max)
        course.receive(bytes, isLast: isLast, now: .now)
    }
}
