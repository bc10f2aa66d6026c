//! Secrets never leave the process: by the names that hold them, and by their shapes.

#[path = "../src/render/redact.rs"]
mod redact;

use redact::{REDACTED, Secrecy};

fn check_name(names: &str, expect: Secrecy) {
    for name in names.split_whitespace() {
        assert_eq!(redact::of_name(name), expect, "{name}");
    }
}

fn check_text(text: &str, expect: &str) {
    assert_eq!(redact::text(text).unwrap_or_else(|| text.to_owned()), expect);
}

fn check_source(line: &str, expect: &str) {
    assert_eq!(
        redact::source_line(line).unwrap_or_else(|| line.to_owned()),
        expect
    );
}

#[test]
fn names_that_hold_secrets_hide_all_of_it() {
    check_name(
        "password passwd DB_PASSWORD dbPassword password2 user_password_hash secret client_secret API_KEY apiKey api_key \
         x-api-key Authorization credentials private_key session_id sessionid cookie Set-Cookie access_token refreshToken \
         aws_secret_access_key SECRET_KEY_BASE ssh_key jwt connection_string _password self.__secret",
        Secrecy::All,
    );
}

#[test]
fn names_about_secrets_and_other_words_are_open() {
    check_name(
        "password_length password_file token_count tokenizer tokenize secretary key_error monkey keyboard passes compass \
         session_timeout cookie_name author auth_url rows total",
        Secrecy::Open,
    );
}

#[test]
fn token_and_key_are_words_of_parsers_and_loops_too() {
    check_name("token session auth", Secrecy::Texts);
    check_name("key tokens salt foreign_key", Secrecy::RandomTexts);
    assert!(redact::hides(Secrecy::Texts, "secret-token"));
    assert!(!redact::hides(Secrecy::Texts, "+="));
    assert!(!redact::hides(Secrecy::RandomTexts, "customer_address_line_2"));
    assert!(redact::hides(
        Secrecy::RandomTexts,
        "9f86d081884c7d659a2feaa0c55ad015"
    ));
    assert!(!redact::hides(Secrecy::All, ""));
}

#[test]
fn known_shapes_are_found_in_any_text() {
    for secret in [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0123456789_abcdef",
        "glpat-abcdefghij0123456789",
        "xoxb-123456789012-abcdefABCDEF",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "sk-proj-abcdefghijklmnop0123",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE",
    ] {
        check_text(secret, REDACTED);
        check_text(&format!("got {secret}"), &format!("got {REDACTED}"));
    }
    check_text("MIIE\n-----END PRIVATE KEY-----\nx", "<redacted>\nx");
}

#[test]
fn only_the_secret_part_of_a_text_goes() {
    check_text(
        "postgres://ann:pw@db:5432/shop",
        "postgres://ann:<redacted>@db:5432/shop",
    );
    check_text("https://example.org:8080/a@b", "https://example.org:8080/a@b");
    check_text(
        "Authorization: Bearer abc123def456",
        "Authorization: <redacted> <redacted>",
    );
    check_text("sent Bearer abc123def456 twice", "sent Bearer <redacted> twice");
    check_text(
        "user=ann&password=hunter2&x=1",
        "user=ann&password=<redacted>&x=1",
    );
    check_text(
        r#"{"user": "ann", "password": "hunter2"}"#,
        r#"{"user": "ann", "password": "<redacted>"}"#,
    );
    check_text("X-Api-Key: abc12345", "X-Api-Key: <redacted>");
    check_text("key=9f86d081884c7d659a2feaa0c55ad015", "key=<redacted>");
}

#[test]
fn prose_and_plain_values_stay() {
    for text in [
        "password: must have eight characters",
        "basic authentication failed",
        "password=None",
        "key=customer_address",
        "the token is missing",
        "x = {'a': 1}",
    ] {
        check_text(text, text);
    }
}

#[test]
fn literals_in_source_go_and_code_stays() {
    check_source(
        "    password = get_password(user)",
        "    password = get_password(user)",
    );
    check_source(
        "    password = \"hunter2\"  # x",
        "    password = \"<redacted>\"  # x",
    );
    check_source(
        "connect(user='ann', api_key='k-12')",
        "connect(user='ann', api_key='<redacted>')",
    );
    check_source("cfg['SECRET'] = 'x'", "cfg['SECRET'] = '<redacted>'");
    check_source("token: str = 'abcdef'", "token: str = '<redacted>'");
    check_source("if row['key'] == 'name':", "if row['key'] == 'name':");
}

#[test]
fn an_expression_is_as_secret_as_the_names_in_it() {
    assert_eq!(redact::secret_name_in("cfg.db_password[:2]"), Some("db_password"));
    assert_eq!(redact::secret_name_in("row['secret'].upper()"), Some("secret"));
    assert_eq!(redact::secret_name_in("request.token"), Some("token"));
    assert_eq!(redact::secret_name_in("token.kind"), None);
    assert_eq!(redact::secret_name_in("len(rows) + 1"), None);
}

#[test]
fn a_masked_text_keeps_its_positions() {
    for (text, expect) in [
        ("postgres://u:pw@h/db", "postgres://u:**@h/db"),
        ("a AKIAIOSFODNN7EXAMPLE b", "a ******************** b"),
        (
            "password=hunter2&token=abcdefgh",
            "password=*******&token=********",
        ),
    ] {
        assert_eq!(redact::masked(text).as_deref(), Some(expect));
    }
    assert_eq!(redact::masked("nothing to hide here"), None);
}
