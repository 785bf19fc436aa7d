//! Why the log is safe. The rules G1 to G16 are in the [crate's documentation](crate).
//!
//! **S1 One leader per term.** G1 and majorities meet. For an emptied data folder see S6. Without
//! majorities (`Quorum::None`) every member has terms of its own.
//!
//! **S2 Matching.** The one leader of its term makes an entry, at one index, and it is appended only
//! where its predecessor is. So two logs with the same position at an index are the same up to there
//! (Raft §5.3).
//!
//! **S3 Every newer log has what is committed.** Let *e* be committed in term *t*. Every log of any
//! member at any time has *e* if its last term is above *t*, or is *t* and it reaches *e*'s index. For
//! term *t* that is S2. For *t' > t*: the last entry comes from the leader of *t'*, which had its log
//! before it made `Begin`. Some member of *e*'s majority voted for it, had *e* when it voted (after
//! that it acknowledges nothing of term *t*), and voted only for a log not older; so by induction
//! over terms that log has *e*. This is Raft's leader completeness, said of all logs. Two things follow
//! that Raft does not use:
//!
//! * *Any member may adopt a newer log from any other (G5).* What it drops because it contradicts the
//!   newer log is not committed and never will be, or the newer log would have it. What both logs have
//!   stays. So this holds for every prefix of the newer log, and for pieces: the adopting member's
//!   position may fall for a while, but not below anything committed that it had.
//! * *A position is enough to vote (the floor).* G3 compares positions. A member that has dropped or
//!   forgotten entries, but knows a position not below that of its former log, votes as safely as if it
//!   had them. A snapshot may end before the floor, so the floor stays until the log has reached it.
//!   A follower needs a snapshot only if its log ends before the leader's base, which is not after the
//!   commit index; so a majority without it holds everything committed.
//!
//! **S4 One serves at a time.** L serves in term T by leases of a majority Q. L' with T' > T has
//! votes of a majority V'; take Y in both. If Y had promised T' before it accepted the message that its
//! lease is from, it would have refused that. So it promised later, and by G3 its lease had run out by
//! its clock, hence before by L's (G7: as long as L counts it, counted from sending, shortened by the drift of two
//! clocks); or
//! L' is L, which stops serving before it asks for votes; or L' showed a permit of L, of a generation
//! not below that of the lease. In the last case L had stopped serving before it gave the permit. If L
//! serves again, that is by leases of a later generation, which Y grants only while it has not promised
//! T', and after which the permit is worth nothing at Y. If Y restarted in between, it does not vote
//! within the longest lease that may bind it of its start, permit or not (S11). Y may be L itself: it stops serving in the step in which
//! it promises. Clock rates are the only assumption.
//!
//! **S5 Memory mode.** R restarts without its log; its promise is durable. The leader L whose answer to
//! this start R accepts has a term T not below R's promise, so all that R ever acknowledged is of terms up
//! to T. Of term T: L made it before R acknowledged it, and L answered after R's restart, so L's position
//! covers it. Of a lower term and committed: L has it by S3. So L's position is a valid floor. (VRR needs
//! f+1 answers because its replicas forget view numbers.) If L counts an ACK of R's former start before it
//! hears of the restart, that entry is in L's log, hence below the floor.
//! Before that R's vote could break S3. So it counts only when (a) a majority has promised, so that no other
//! leader serves and nothing is confirmed to clients any more, and (b) since then the longest time has
//! passed for which a client may rely on anything that R had acknowledged. The wait begins with (a), not
//! with R's start, so keep-alives cannot outlive it. Terms, and with them tokens, still grow.
//!
//! **S6 Births.** An emptied data folder has forgotten its promises too. Its votes do not count for a
//! candidate that has the old birth in its log. An ACK counts only after its birth is in the log that is
//! acknowledged: either in the `Begin` of the term, because the member voted, or in a `Joined` that was
//! committed by others. In the second case a majority M of the *others* has the entry. A candidate C that
//! needs the emptied member's vote has k more of the 2k others, M has k+1 of them: they share one, which
//! votes only for a log with `Joined`, so C knows the old birth. The same holds for a late vote of the old
//! folder after the new one has joined. Late ACKs of the old folder are about entries before `Joined`,
//! which the majority of the others has. What remains is for operators: if a member is emptied whose birth
//! is only in a `Begin`, and of the others only those can be reached that have never had that entry, they
//! look like a new cluster. Do not empty a folder while a majority of the *other* members is down.
//!
//! **S7 Reads.** A serving leader has applied everything that was ever told: its own `Begin` is committed,
//! so everything committed before is applied, and later outcomes it tells itself. No other leader is in
//! state. So a read of the applied state, with a look at the clock in the same step, is linearizable.
//!
//! **S8 Two histories.** After a vote that waited (S5), or with `Quorum::None`, a member may come back that
//! has committed what the leader does not have. The leader's log contradicts it at or below its commit
//! index; it tells `Diverged` and takes over the leader's history by a snapshot. With a disk and a majority
//! this cannot happen unless data was lost: then the member does not follow, and says so.
//!
//! **S9 Changing members.** S1, S3 and S4 say "majorities meet". With changing lists (G11) two majorities
//! may be of different lists. Call two lists *adjacent* if they differ by one voter at most; their majorities
//! meet. G12 makes each list adjacent to the one before it in its log, which was committed before.
//!
//! *S3 again.* Let t' be the lowest term whose leader L' lacks an entry that was committed in a lower term;
//! call the entry *e*, its term t, the leader that committed it L, and L's newest list at that moment C. Let
//! C' be the newest list of L' when it was elected. All leaders below t' have what was committed before
//! them. The entry of C' is of a term up to t: a leader of a later term below t' had *e* before it, and so
//! would L'.
//! * *C' is in L's log.* If C is C' or the list after it, they are adjacent: a member Y of L's majority
//!   voted for L', which is S3's old argument. Otherwise the list C1 after C' was committed, in a term up
//!   to t, by a majority of C1; C1 and C' are adjacent; so some voter of L' had C1, and as all leaders
//!   between have C1, L' has it: then C' is not its newest.
//! * *C' is not in L's log.* Let u be its term, D the list before it. The leader of u had committed
//!   `Begin` of u, and D, before it appended C'. So L has both. The first list after D in L's log, if there
//!   is one, is of a term w with u < w <= t. Its leader had committed `Begin` of w, by a majority of
//!   D, which is adjacent to C'. So some voter of L' had that entry, and by S3 below t' the log of L' has
//!   it, and it is the log of w's leader up to there, without C': a contradiction. If there is no list
//!   after D, C is D, and adjacent to C'. (This is the case that a leader without a committed entry of its
//!   own term would get wrong: Ongaro's correction of 2015.)
//!
//! *S1 again.* If the lists of two winners of one term are adjacent, some member would have voted twice. If
//! not, the later of the lists stands on one, or on a `Begin`, that was committed in a lower term, and that the
//! other winner lacks, against S3.
//!
//! *S4 again: leases.* L serves in T by leases of a majority of its newest list C, counted in every step (G12).
//! Let T' be the lowest term above T whose leader L' was elected while L served or before L served last, and
//! C' its list. If C and C' are adjacent, S4 stands as it is; the lease and the promise are Y's, whether it
//! voted, learnt or was asked by either. If C' is two or more changes after C, the list after C was
//! committed by a leader of a term between T and T' (L has committed none after C): when that leader was
//! elected L had stopped serving. If C is two or more changes after C', the list after C' was committed in a
//! term up to T, and L' has it by S3. If each has a list that the other lacks, both after D: the one of
//! the lower term, say of u, stands against a `Begin` of the higher term, which was committed by a majority of
//! D, adjacent to it, as in S3: so L' cannot have the lower one, and if L has it, the higher one was made by a
//! leader elected above T under D, adjacent to C, and that leader or L' itself is the case before.
//! A learner's lease is as good as a voter's, so it counts from the step in which it is promoted. A leader
//! whose lease is too short by the new list stops serving in the step that appends it.
//!
//! *S6 again.* `Joined` of X was committed by a majority of D without X. A candidate whose list C' is adjacent
//! to D, and that needs X, has a majority of C' with X. Without X, and without the one by which C' is larger,
//! these are at least |D|/2 of D's others; with the majority of D they are more than |D| - 1: they meet.
//!
//! *Learners and safety.* Nothing above needs the catching up of G13; it is for progress: a voter without
//! the log is one that the majority needs and does not have. *Removal*: a member whose removal is committed
//! cannot be elected by S3 and S9, so what others answer to it, or do not, is for progress only.
//!
//! **S10 Proof of death.** A term has one leader (S1), and one incarnation of it: the promise of term T is durable,
//! and a member asks for votes only in terms above all that it has promised, so a member that starts again never
//! leads T a second time. Let Y be bound to L in term T, by a heartbeat of incarnation X of L, and let Y learn that
//! X has ended. X does not serve then or later: it does nothing. No other member serves in T. So there is no leader
//! any more that relies on this lease, and S4 holds without it. If L leads again, that is incarnation X' in a term
//! T' above T, by leases that are from heartbeats of X', and the proof of X does not free any member from these,
//! however late or often it comes. A heartbeat of X that comes after the proof would bind Y to a process that is
//! dead; ignoring it costs no safety, and what it brings is with a majority or not committed. A member that forgets
//! the proof, by a restart or because it hears of another incarnation, is bound longer, which costs time only. A
//! candidate that says what it knows (G15) speaks as truly as the parent did: members crash, and do not lie. Votes,
//! promises, positions and the waits of S5 are untouched: a voter that has just restarted does not know whom it was
//! bound to, so no proof helps it (G9).
//!
//! The proof must be true: the driver that gives it to the log has seen that no thread of X is left. What X sent
//! before may still arrive, and is like any late message.
//!
//! **S11 Leases of different lengths.** S4 compares one lease at two members: for how long Y is bound, and for how long
//! L counts on that. Both follow from one message of L: it says how long the lease is, Y is bound for as long, and the
//! ACK repeats it. So L and Y need not agree on any setting. A lease that L asks for later may be shorter; Y then stays
//! bound to the end of the longer one, because L counts the one of them that ends later, and its ACK to the later one
//! may be lost. A leader of a higher term is another matter: L had stopped serving before it was elected. After a
//! restart Y does not know to whom it was bound. It waits for the longest lease that may bind it, which is on its disk
//! before the ACK leaves: a shorter one replaces it only when the longer one ends no later. So safety does not need G16.
//! What needs it is that all later leaders go by the same settings. L goes by entries that are committed, so a leader
//! of a higher term has them (S3) and goes by them when it serves, because its own `Begin` comes after them. The bound on
//! clocks is used by leaders alone, when they count. It says what an operator knows of the clocks: it must be true when a
//! leader counts by it.
//!
//! **S12 Asking before the own vote is durable.** On a disk, a candidate C sends its requests for votes in term T and
//! then makes its promise of T to itself durable; it handles nothing before that is done. So until then C
//! counts no vote, leads nothing, and has told nothing but the request: with its log, which is durable, at position p.
//! Let C crash before. Then C has promised T to no other, and others may have voted for C in T. Three things may
//! follow:
//! * *C votes for D in T.* Votes for C in T and votes for D in T are of different members, and C's own
//!   counts for D only. C does not campaign in T any more (G2). So D is the only leader of T.
//! * *C campaigns in T again*, and counts late votes that answer its former request. Its log is at a position p' not
//!   below p: a log on disk falls below p only while it adopts a newer one, with a floor, and until it has reached
//!   the floor C does not campaign. Each voter found its own log not newer than p, and has appended nothing of a term
//!   below T since it promised T. So it would vote for C again, as it may (G1). If it was freed by a permit, it
//!   grants the former leader no lease any more, in whichever generation, because it has promised T (S4).
//! * *C does neither.* Some voters have promised T for nothing. The next candidate, and a leader that they refuse,
//!   take a higher term, as after any campaign that fails.
//!
//! No more than one incarnation of C leads T (S10): C leads only after the save, and takes higher terms
//! when it starts after that. If entries wait for the same save, or the log is not on disk, p' could be below p, so
//! the promise is durable first. A folder that was emptied is another one (S6). The worlds `asks_early` in
//! `crates/log/tests/it` have a crash at every point between asking and durability.
