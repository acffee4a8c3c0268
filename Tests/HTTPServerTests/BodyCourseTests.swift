import Testing

@testable import PowerSyncHTTPServer

/// Bodies that are handed over piece by piece, without a connection.
struct BodyCourseTests {
    private let start = ContinuousClock.now

    private func course(
        length: Int?, _ change: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) -> BodyCourse {
        var configuration = HTTPServerConfiguration()
        change(&configuration)
        return BodyCourse(configuration, length: length, now: start)
    }

    /// Lets so many bytes come and be handed over, in pieces as they are read, at a moment in seconds.
    private func receive(_ count: Int, _ course: inout BodyCourse, at seconds: Int) {
        var left = count
        while left > 0 {
            let piece = min(left, 64 << 10)
            course.receive(
                [UInt8](repeating: 0, count: piece), isLast: false, now: start + .seconds(seconds))
            _ = course.handOver(.max)
            left -= piece
        }
    }

    private func deadline(_ course: BodyCourse) -> Double { (course.deadline - start) / .seconds(1) }

    @Test func piecesAreNoLongerThanTheLimit() {
        var course = course(length: 10)
        #expect(course.handOver(4) == nil && course.left == 10)
        course.receive(Array("0123456789".utf8), isLast: true, now: start)
        #expect(course.left == 0 && course.isComplete)
        #expect(course.handOver(4) == Array("0123".utf8))
        #expect(course.handOver(4) == Array("4567".utf8))
        #expect(course.handOver(4) == Array("89".utf8))
        #expect(course.handOver(4) == nil)
    }

    @Test func aShortBodyHasThePaceOfOneThatIsCollected() {
        var course = course(length: 200_000) {
            $0.bodyBytesPerSecond = 64 << 10
            $0.bodyMinimumPerSecond = 1 << 10
        }
        #expect(deadline(course) == 5, "the grace")
        receive(64 << 10, &course, at: 1)
        var configuration = HTTPServerConfiguration()
        configuration.bodyBytesPerSecond = 64 << 10
        configuration.bodyMinimumPerSecond = 1 << 10
        let pace = BodyPace(configuration, length: 200_000)
        #expect(course.deadline == pace.deadline(start: start, received: 64 << 10))
    }

    /// A gigabyte at 16 KiB a second would have earned eighteen hours.
    @Test(arguments: [nil, 4 << 30])
    func whoHasBeenFastMayNotRestForLong(length: Int?) {
        var course = course(length: length)
        #expect(deadline(course) == 30)
        receive(BodyCourse.stretch - 1, &course, at: 2)
        #expect((93.9...94).contains(deadline(course)), "30 s and the time of its bytes")
        receive(1, &course, at: 3)
        #expect(deadline(course) == 33, "a new stretch begins")
        receive(1 << 30, &course, at: 60)
        #expect(deadline(course) == 90)
        #expect(course.received == BodyCourse.stretch + (1 << 30))
        #expect(course.left == length.map { $0 - course.received })
    }

    @Test func theLastStretchIsAsShortAsItIs() {
        func pace(_ configuration: inout HTTPServerConfiguration) {
            configuration.bodyBytesPerSecond = 64 << 10
            configuration.bodyMinimumPerSecond = 1 << 10
        }
        var course = course(length: BodyCourse.stretch + 1_000, pace)
        // What a stretch must bring each second so that it ends in 30 s and the time of its bytes.
        let least = Double(BodyCourse.stretch) / (30 + 16)
        receive(256 << 10, &course, at: 1)
        #expect(abs(deadline(course) - (5 + Double(256 << 10) / least)) < 0.001)
        receive(BodyCourse.stretch - (256 << 10), &course, at: 10)
        receive(500, &course, at: 11)
        #expect(abs(deadline(course) - (10 + 5 + 500.0 / 1024)) < 0.001, "the least of all bodies")
    }

    @Test func timeOfOthersIsLeftOut() {
        var course = course(length: nil)
        course.leaveOut(.seconds(7))
        #expect(deadline(course) == 37)
        receive(32 << 10, &course, at: 20)
        course.leaveOut(.seconds(100))
        #expect(deadline(course) == 139)
    }
}
