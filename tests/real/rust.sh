# needs: rustc
# timeout: 180
# rustc compiles and links; the program has threads and a child.
cat >t.rs <<'X'
use std::{fs, process::Command, thread};
fn main() {
    let h: Vec<_> = (0..8).map(|i| thread::spawn(move || i * i)).collect();
    println!("{}", h.into_iter().map(|t| t.join().unwrap()).sum::<i32>());
    fs::write("f", "abc").unwrap();
    println!("{}", fs::read_to_string("f").unwrap());
    println!("{:?}", Command::new("echo").arg("x").output().unwrap().stdout);
    println!("{:?}", fs::metadata("none").unwrap_err().kind());
}
X
rustc -O t.rs && ./t
