import Testing

@testable import PowerSyncBenchmarks

@Suite struct FigureRowTests {
    @Test func aTableHasMedianWorstAndTheFigureOfEachRun() {
        let rows = [
            FigureRow(work: "first", goal: "≤ 1 s", figures: [0.5, 0.0123, 2, 0.25, 1]),
            FigureRow(work: "second", goal: "", unit: .megabytes, figures: [80.4, nil, 90]),
        ]
        #expect(
            FigureRow.table(rows) == """
                | work   | goal  | median | worst  | each run                              |
                |--------|-------|--------|--------|---------------------------------------|
                | first  | ≤ 1 s | 500 ms | 2.0 s  | 500 ms, 12.3 ms, 2.0 s, 250 ms, 1.0 s |
                | second |       | 90 MB  | failed | 80 MB, failed, 90 MB                  |
                """)
    }

    @Test func aCannedServerAndDeathsHaveColumnsWhereThereAreAny() {
        let rows = [
            FigureRow(work: "a", goal: "", figures: [1, 3, 2], canned: [0.5, 0.25, 0.75], deaths: 2),
            FigureRow(work: "b", goal: "", figures: [nil]),
        ]
        #expect(
            FigureRow.table(rows) == """
                | work | goal | median | worst  | each run            | canned server: median (each run) | parts that died |
                |------|------|--------|--------|---------------------|----------------------------------|-----------------|
                | a    |      | 2.0 s  | 3.0 s  | 1.0 s, 3.0 s, 2.0 s | 500 ms (500 ms, 250 ms, 750 ms)  | 2               |
                | b    |      | failed | failed | failed              |                                  |                 |
                """)
    }
}
