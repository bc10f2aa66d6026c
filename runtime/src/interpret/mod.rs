//! Runs checked HealCore over the live objects, with a journal of every write.
