import PowerSyncCommandLine
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The sub-command `client`.
enum ClientCommand {
    static let command = Command(
        "client", abstract: "A client of the SDK: a prompt for people, or driven by a program with --json.",
        discussion: """
            Without --json it is a prompt: SQL that ends with a semicolon, tables as answers, and commands such as \
            .connect and .help. The prompt says how it stands with the service and how many changes wait to be \
            uploaded; a connection that is lost or found, and what the backend refuses, is told above what is being \
            typed. Arrow up brings back what was typed before, also in earlier runs (XDG_STATE_HOME, else .local/state \
            in the home folder); what begins with a space is not kept, and nothing where powersync-stack/history there \
            is a link to /dev/null. Of a result the first 1,000 rows are shown. Ctrl-C gives up a line or ends what \
            runs, Ctrl-D leaves. While something runs the system itself edits lines: of one that is pasted then it \
            keeps 4,095 bytes.

              powersync-stack client --db a.db --schema schema.json --endpoint http://127.0.0.1:8080 \\
                  --backend http://127.0.0.1:6060 --user alice
              offline> .connect
              connected> SELECT id, name FROM lists;

            Where standard input or output is no terminal it is a script of the same lines: results go to standard \
            output, errors with the number of their line to standard error. What follows an error is done all the \
            same, and the status is then 1; so it is where the backend refuses what was written. All rows of a result \
            are shown, which may have 64 MiB.

              echo 'SELECT count(*) FROM lists;' | powersync-stack client --db a.db …

            With --json another program drives it, by lines of JSON. It opens the database and prints \
            {"event":"ready"}. From then on each line of standard input is a command, and each gets an answer when it \
            is done: its id, "ok", and what it gives, or "error" and "code". What changes something is done in order of \
            arrival; reads see what was written before them; waits and watches hold up nobody. The command close and \
            the end of the input close the database. What is in work then has 45 seconds; what is not done then, and \
            what waits, is answered with the code closed, and a statement that runs is undone. SIGTERM and Ctrl-C end \
            it without that time. The status is 0; it is 1 where the database cannot be opened or closed, and where \
            answers cannot be written any more, for a full disk or since nobody reads them; 64 where the command line \
            makes no sense. Warnings and errors of syncing are lines on standard error, which may stay unread: beyond \
            64 KiB they are dropped, and a line says how many.

              powersync-stack client --db a.db --schema schema.json --endpoint http://127.0.0.1:8080 \\
                  --backend http://127.0.0.1:6060 --user alice --json
              {"id":1,"op":"connect"}
              {"id":2,"op":"wait","for":"first-sync","timeout":30}
              {"id":3,"op":"watch","sql":"SELECT id, name FROM lists"}
              {"id":4,"op":"write","tx":[["INSERT INTO lists (id, name) VALUES (uuid(), ?)",["Groceries"]]]}
              {"id":5,"op":"wait","for":"up-to-date"}
              {"op":"close"}

            Files that belong to rows, such as pictures, come along with --attachments: a query of the ids of those that \
            the client is to have, in a column id; columns file_extension, filename, media_type and meta_data may say \
            more. They lie beside the database, in DB-attachments, and are transferred while the client is connected; \
            what failed is tried again each second. The schema gets the table attachments if it lacks it.

              powersync-stack client --db a.db --schema schema.json --endpoint http://127.0.0.1:8080 \\
                  --backend http://127.0.0.1:6060 --user alice --json \\
                  --attachments 'SELECT photo_id AS id FROM todos'
              {"id":1,"op":"connect"}
              {"id":2,"op":"attach","file":"a.png","tx":[["UPDATE todos SET photo_id = ? WHERE id = 't1'",[{"$attachment":true}]]]}
              {"id":3,"op":"wait","for":"attachments","timeout":30}

            A line that cannot be read is answered by the id that stands at its beginning; where there is none, an \
            event {"event":"error","error":…,"code":…} tells of it.

            An event {"event":"rejected","at":…,"code":…,"message":…,"table":…,"id":…,…} tells of each transaction \
            that the backend will never take, with what the backend says of the change that failed, the id of its row \
            among that; "transaction" is its number in the queue, "rejection" the name under which the backend keeps \
            it. It has left the queue, unless "undecided" is true: then the backend leaves it to the client, and it \
            stays first in the queue, with nothing behind it uploaded, until the command discard.

            Commands, with the members that they may have; times in milliseconds but for timeout and ttl, in seconds:

              write       tx: [[sql, [argument, …]], …]       one transaction; results: rows, or how many changed,
                                                              which is 0 through a view
              read        sql, args                           rows; refused is what changes anything, the connection
                                                              included: BEGIN, ATTACH, CREATE TEMP, a PRAGMA with a value
              watch       sql, args, throttle (1)             events with rows, at first and at each change of a
                                                              table, also to rows that are equal
              unwatch     watch (id)                          ends the watch whose command had this id
              connect     retry (500), throttle (10)          starts syncing, or starts it again
              disconnect                                      stops syncing
              clear       soft (false)                        stops syncing, removes data and files; a stream that is
                                                              held is asked for again by the next connect
              discard                                         gives up the transaction that the backend refuses and
                                                              leaves to the client; count of its changes
              stream      name, parameters, ttl, priority     subscribes to a sync stream and holds it
              unstream    name, parameters, all (false)       gives it up, its data goes after its ttl; all: at once
              status                                          connected, connecting, syncedElsewhere (by another
                                                              process), hasSynced, lastSyncedAt, downloading, uploading,
                                                              downloadError, uploadError, progress (downloaded, total)
              wait        for, timeout (none)                 first-sync, queue-empty, up-to-date, stream (with name),
                                                              attachments: those that are named are here and in the
                                                              storage; a timeout of 0 asks once. up-to-date, without a
                                                              timeout, fails while another process syncs the file
              crud-count                                      how many entries wait for upload
              attach      file, media_type (by its name), tx  saves a copy of a file; attachment_id. In tx, which is the
                                                              same transaction, {"$attachment":true} is that id
              delete-attachment  attachment_id, tx            deletes it here and in the storage
              attachments                                     rows: id, state, filename, size, error
              export      attachment_id, file                 copies it into a file
              close                                           ends with status 0

            An event {"event":"checkpoint","at":…} tells of each checkpoint that was applied, before or behind what a \
            wait answers. Where more than 1,024 events of a kind are not told yet, the last one stands for "count" of \
            them. Bytes are {"$base64":"…"}; a number with a point or an exponent is a real, any other an integer of \
            64 bits. A text that holds several statements is refused. A command may have 64 MiB, and so may what it \
            gives: more is an error with the code answerTooLarge. 1,024 watches and waits may be open at a time, whose \
            commands have 64 MiB together.

            The schema is the JSON that the core of all PowerSync clients takes:

              {"tables":[{"name":"lists","columns":[{"name":"name","type":"text"}]}]}
            """,
        options: [
            Option("--db", "FILE", help: "The database; made if it is not there. ':memory:' leaves none."),
            Option("--schema", "FILE", help: "The tables, as JSON."),
            Option("--endpoint", "URL", help: "The sync service."),
            Option(
                "--token", "TOKEN",
                help:
                    "A token that the service takes. Uploads need --backend instead. It shows in the list of "
                    + "processes, as do passwords in a URL."),
            Option("--token-file", "FILE", help: "A file with such a token, which shows nowhere."),
            Option("--backend", "URL", help: "A development backend, for tokens and uploads."),
            Option("--user", "NAME", help: "The subject of the backend's tokens."),
            Option("--params", "JSON", help: "Client parameters, an object."),
            Option(
                "--attachments", "SQL",
                help: "The ids of the files that the client is to have, as a query with a column id."),
            Option(
                "--attachment-cache", "N", help: "How many files are kept that no row names any more.",
                standard: "100"),
            Option(
                "--proxy", "URL", help: "The proxy of all requests; '' for none, not even the environment's.",
                mayBeEmpty: true),
            Option("--ca-file", "FILE", help: "The authorities to trust, as PEM, in place of the system's."),
            Option("--client-cert", "FILE", help: "The client's certificate, as PEM."),
            Option("--client-key", "FILE", help: "Its key, if it does not stand beside it."),
            Option(
                "--checkpoint-requests",
                help: "Ask for write checkpoints as checkpoint requests (service 1.24 or newer)."),
            Option("--json", help: "Take commands as lines of JSON, and answer in lines of JSON."),
        ],
        variables: [
            Variable(
                ClientOptions.tokenVariable, help: "Such a token, where no option names a token or a user."),
            Variable("NO_COLOR", help: "If set, nothing at the prompt stands out by a colour."),
            Variable("XDG_STATE_HOME", help: "Below it lies the history of the prompt."),
        ]
    ) { arguments in
        let options = try ClientOptions(arguments, environment: ProcessInfo.processInfo.environment)
        guard arguments.flag("--json") else { return try await PromptCommand.run(options) }
        let status = try await Session.run(until: StopSignal.stream()) { session in
            try await ClientRun.run(
                options, input: 0, write: { try StandardOutput.put($0) }, session: session)
        }
        // A signal is a way to end it like any other.
        return status ?? 0
    }
}
