//! Size of the tree: statements, nodes and depths.

use super::define_rules;

define_rules! {
    STATEMENTS = "HC611" "too-many-statements": "more than 200 statements";
    NODES = "HC612" "too-many-nodes": "more than 4,000 statements, expressions and their parts";
    EXPRESSION_DEPTH = "HC613" "expression-depth": "expressions more than 40 levels deep";
    BLOCK_DEPTH = "HC614" "block-depth": "blocks more than 12 levels deep";
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn sizes_are_limited() {
        check(&"x = 1\n".repeat(200), "");
        check(&"x = 1\n".repeat(201), "HC611");
        check(&format!("x = [{}]", "1, ".repeat(3_990)), "");
        check(&format!("x = [{}]", "1, ".repeat(4_001)), "HC612");
        check(&format!("x = [{}]", "set(), ".repeat(2_100)), "HC612");
        check(&format!("x = [{}]", "a[:], ".repeat(2_000)), "HC612");
        check(&format!("{}1", "x = ".repeat(4_001)), "HC612");
        check(&format!("{} = a", "x, ".repeat(4_001)), "HC612");
        check(&format!("x = 1{}", " + 1".repeat(38)), "");
        check(&format!("x = 1{}", " + 1".repeat(41)), "HC613");
        check(&format!("x = {}1{}", "[".repeat(45), "]".repeat(45)), "HC613");
    }

    fn blocks(depth: usize) -> String {
        let lines: Vec<_> = (0..depth)
            .map(|level| format!("{}if a:", " ".repeat(level)))
            .collect();
        format!("{}\n{}x = 1", lines.join("\n"), " ".repeat(depth))
    }

    #[test]
    fn blocks_are_limited() {
        check(&blocks(12), "");
        check(&blocks(13), "HC614");
        check(&blocks(60), "HC614");
        check(
            &format!("if a:\n    x = 1\n{}", "elif b:\n    x = 2\n".repeat(90)),
            "",
        );
    }
}
