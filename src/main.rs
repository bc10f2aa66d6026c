//! `healmcp`.

fn main() -> std::process::ExitCode {
    healmcp::cli::main()
}
