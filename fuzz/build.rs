//! Links the fuzz targets against the libpython of an interpreter: `PYTHON`, or `python3.12`.

use std::process::Command;

const WHERE: &str = "import sysconfig as s; v = s.get_config_var; print(v('LIBDIR'), v('LDVERSION'), s.get_config_var('prefix'))";

fn main() {
    println!("cargo:rerun-if-env-changed=PYTHON");
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3.12".to_owned());
    let output = Command::new(&python)
        .args(["-c", WHERE])
        .output()
        .unwrap_or_else(|error| {
            panic!("{python} does not start ({error}): set PYTHON to a CPython with a shared library")
        });
    let text = String::from_utf8_lossy(&output.stdout);
    let [folder, version, prefix] = text.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{python} does not say where its library is");
    };
    for argument in [
        format!("-L{folder}"),
        "-Wl,--no-as-needed".to_owned(),
        format!("-lpython{version}"),
        format!("-Wl,-rpath,{folder}"),
    ] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!("cargo:rustc-env=FUZZ_PYTHON_HOME={prefix}");
}
