import Testing

@testable import PowerSync

/// Which questions go to a backend together (Client/Attachments/SPEC.md, "Questions").
@Suite struct QuestionLineTests {
    /// Adds questions.
    private func add(
        _ ids: ClosedRange<UInt64>, _ kind: BatchQuestion.Kind = .download, bytes: Int = 1,
        to line: inout QuestionLine
    ) {
        for id in ids { line.add(id, kind, bytes: bytes) }
    }

    @Test func theFirstGoesAtOnceAndTheOthersTogetherBehindIt() {
        var line = QuestionLine()
        #expect(line.steps(at: .zero) == [])
        add(1...1, to: &line)
        #expect(line.steps(at: .zero) == [.alone(1)])
        add(2...4, to: &line)
        #expect(line.steps(at: .zero) == [])
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [.together([2, 3, 4])])
        add(5...5, to: &line)
        #expect(line.steps(at: .zero) == [])
        line.ended(2, at: .zero)
        #expect(line.steps(at: .zero) == [.alone(5)], "one alone has its own route")
        line.ended(5, at: .zero)
        #expect(line.steps(at: .zero) == [])
    }

    @Test func whatDoesNotWaitAnyMoreIsNotSent() {
        var line = QuestionLine()
        add(1...1, to: &line)
        _ = line.steps(at: .zero)
        add(2...4, to: &line)
        line.remove(3)
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [.together([2, 4])])
    }

    @Test func aRequestHasALimitOfQuestions() {
        var line = QuestionLine()
        add(1...1, to: &line)
        _ = line.steps(at: .zero)
        add(2...252, to: &line)
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [.together(Array(2...101))])
        line.ended(2, at: .zero)
        #expect(line.steps(at: .zero) == [.together(Array(102...201))])
        line.ended(102, at: .zero)
        #expect(line.steps(at: .zero) == [.together(Array(202...252))])
    }

    @Test func aRequestHasALimitOfBytes() {
        var line = QuestionLine()
        add(1...1, to: &line)
        _ = line.steps(at: .zero)
        add(2...4, bytes: QuestionLine.mostBytes / 2, to: &line)
        add(5...5, bytes: QuestionLine.mostBytes + 1, to: &line)
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [.together([2, 3])])
        line.ended(2, at: .zero)
        #expect(line.steps(at: .zero) == [.alone(4)])
        line.ended(4, at: .zero)
        #expect(line.steps(at: .zero) == [.alone(5)], "one at least")
    }

    @Test func whereAnswersTakeLongTwoAreOnTheirWay() {
        var line = QuestionLine()
        add(1...1, to: &line)
        _ = line.steps(at: .zero)
        add(2...3, to: &line)
        let late = QuestionLine.quick
        #expect(line.steps(at: late - .milliseconds(1)) == [])
        #expect(line.moment == late)
        #expect(line.steps(at: late) == [.together([2, 3])], "the first one takes long")
        #expect(line.moment == nil)
        add(4...5, to: &line)
        #expect(line.steps(at: late) == [], "never more than two")
        #expect(line.moment == nil, "whatever the time")
        line.ended(1, at: late)
        #expect(line.steps(at: late) == [.together([4, 5])], "the last one took long")
        line.ended(2, at: late)
        line.ended(4, at: late)
        add(6...6, to: &line)
        #expect(line.steps(at: late) == [.alone(6)])
        add(7...7, to: &line)
        #expect(line.steps(at: late) == [], "the last one did not")
        #expect(line.moment == late + QuestionLine.quick)
    }

    @Test func aRequestThatIsTooLargeHasHalfAsManyTheNextTime() {
        var line = QuestionLine()
        add(1...1, to: &line)
        _ = line.steps(at: .zero)
        add(2...9, to: &line)
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [.together(Array(2...9))])
        add(10...16, to: &line)
        line.ended(2, at: .zero)
        line.hadTooMany(8, at: .zero)
        #expect(line.steps(at: .zero) == [.together([10, 11, 12, 13])])
        line.ended(10, at: .zero)
        line.hadTooMany(2, at: .zero)
        #expect(!line.gathers(.download))
        #expect(line.steps(at: .zero) == [.alone(14), .alone(15), .alone(16)])
    }

    @Test func whatABackendDoesNotKnowGoesApartAtOnce() {
        var line = QuestionLine()
        line.isUnknown(with: [.upload, .complete], at: .zero)
        #expect(line.gathers(.upload) && !line.gathers(.complete))
        add(1...2, .complete, to: &line)
        add(3...3, .upload, to: &line)
        #expect(line.steps(at: .zero) == [.alone(1), .alone(2), .alone(3)])
        add(4...5, .upload, to: &line)
        add(6...6, .complete, to: &line)
        #expect(line.steps(at: .zero) == [.alone(6)], "completions wait for nothing")
        line.ended(1, at: .zero)
        #expect(line.steps(at: .zero) == [], "they held nothing up")
        line.ended(3, at: .zero)
        #expect(line.steps(at: .zero) == [.together([4, 5])])
        line.isUnknown(with: [.upload], at: .zero)
        add(7...8, .upload, to: &line)
        #expect(line.steps(at: .zero) == [.alone(7), .alone(8)])
    }

    /// Both were on their way before the first one was answered.
    @Test func twoThatWereUnknownWithCompletionsSayNothingOfTheOthers() {
        var line = QuestionLine()
        line.isUnknown(with: [.upload, .complete], at: .zero)
        line.isUnknown(with: [.upload, .complete], at: .zero)
        #expect(line.gathers(.upload) && !line.gathers(.complete))
    }

    @Test func whatABackendDoesNotTakeIsForgotten() {
        var line = QuestionLine()
        line.isUnknown(with: [.upload, .complete], at: .zero)
        line.hadTooMany(2, at: .seconds(1))
        let end = Duration.seconds(1) + QuestionLine.memory
        add(1...2, .upload, to: &line)
        #expect(line.steps(at: end - .milliseconds(1)) == [.alone(1), .alone(2)])
        add(3...3, .complete, to: &line)
        #expect(line.steps(at: end) == [.alone(3)])
        #expect(line.gathers(.upload) && line.gathers(.complete))
        add(4...4, .upload, to: &line)
        add(5...5, .complete, to: &line)
        line.ended(3, at: end)
        #expect(line.steps(at: end) == [.together([4, 5])])
    }
}
