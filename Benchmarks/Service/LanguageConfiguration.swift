/// A configuration of 46 queries, in the shapes that are published and recorded (`real-*` of Tests/Fixtures/service).
enum LanguageConfiguration {
    /// How many queries it has.
    static let queries = 46

    /// Queries with `@` in the place of a number.
    private static let shapes = [
        "SELECT id::text AS id, org_id::text AS org_id, user_id, role FROM memberships@ "
            + "WHERE user_id::text = auth.user_id()",
        "SELECT * FROM seasons@ WHERE id IN (SELECT current_season FROM app_state@) AND enabled = true",
        "SELECT * FROM tasks@ WHERE project_id IN (SELECT id FROM projects@ WHERE org_id IN my_orgs)",
        "SELECT \"tasks@\".* FROM tasks@ JOIN projects@ AS p ON tasks@.project_id = p.id "
            + "INNER JOIN memberships m ON m.org_id = p.org_id WHERE m.user_id = auth.user_id() "
            + "AND m.role = 'admin' AND p.deleted_at IS NULL",
        "SELECT * FROM projects@ WHERE id IN (SELECT project_id FROM invites WHERE LOWER(email) IN "
            + "(SELECT LOWER(email) FROM users WHERE id = auth.user_id()))",
        "SELECT id, name, public FROM projects@ WHERE owner_id = auth.user_id() "
            + "OR assignee_id = auth.user_id() OR reviewer_id = auth.user_id()",
        "SELECT id, name FROM projects@ WHERE owner_id = auth.user_id() OR org_id IN (SELECT org_id "
            + "FROM memberships WHERE user_id = auth.user_id() AND role = 'admin' AND active = true) "
            + "OR id IN (SELECT id FROM projects@ WHERE settings ->> 'kind' = 'big')",
        "SELECT * FROM app.notes@ WHERE user_id = auth.user_id() AND archived = false",
        "SELECT id, \"displayName\" AS name FROM \"userProfiles@\" WHERE \"userId\" = auth.user_id()",
        "SELECT * FROM tasks@ WHERE project_id IN (SELECT id FROM projects@ WHERE org_id = "
            + "auth.parameters() ->> 'org' AND deleted_at IS NULL) AND deleted = false",
        "SELECT * FROM comments@ WHERE task_id IN (SELECT id FROM tasks@ WHERE project_id = "
            + "subscription.parameter('project_id') AND project_id IN (SELECT id FROM projects@ WHERE "
            + "id = subscription.parameter('project_id') AND org_id IN (SELECT org_id FROM memberships "
            + "WHERE user_id = auth.user_id() AND active = true)))",
        "SELECT * FROM comments@ WHERE task_id IN (SELECT id FROM tasks@ WHERE project_id IN (SELECT id "
            + "FROM projects@ WHERE org_id IN (SELECT org_id FROM memberships WHERE "
            + "user_id = auth.user_id() AND active = true)))",
    ]

    /// The text.
    static let text: String = {
        var text = """
            config:
              edition: 3
            with:
              my_orgs: SELECT org_id FROM memberships WHERE user_id = auth.user_id() AND active = true
            streams:

            """
        for number in 0..<queries {
            let query = shapes[number % shapes.count]
                .split(separator: "@", omittingEmptySubsequences: false).joined(separator: String(number))
            text += """
                  # What a user sees on page \(number).
                  stream_\(number):
                    auto_subscribe: \(number.isMultiple(of: 2))
                    priority: \(number % 4)
                    queries:
                      - \(query)

                """
        }
        return text
    }()
}
