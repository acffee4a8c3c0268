import PowerSyncSQLite

extension SQLiteConnection {
    /// Runs one statement of the app.
    func run(_ statement: LocalStatement) throws {
        switch statement {
        case .insert(let row, let title, let n, let replaces):
            try run(
                "INSERT \(replaces ? "OR REPLACE " : "")INTO \(row.table)(id, title, n) VALUES (?, ?, ?)",
                [.text(row.id), SQLiteValue(title), SQLiteValue(n.map(Int64.init))])
        case .update(let row, let title, let n):
            var assignments: [String] = []
            var values: [SQLiteValue] = []
            if let title {
                assignments.append("title = ?")
                values.append(SQLiteValue(title))
            }
            if let n {
                assignments.append("n = ?")
                values.append(SQLiteValue(n.map(Int64.init)))
            }
            try run(
                "UPDATE \(row.table) SET \(assignments.joined(separator: ", ")) WHERE id = ?",
                values + [.text(row.id)])
        case .delete(let row): try run("DELETE FROM \(row.table) WHERE id = ?", [.text(row.id)])
        case .note(let id, let title):
            try run("INSERT INTO notes(id, title) VALUES (?, ?)", [.text(id), .text(title)])
        }
    }
}
