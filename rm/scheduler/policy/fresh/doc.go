// Package fresh is the stage policy FRESH (Wang, chapter 3): containers of a leaf go to maps and reduces in proportion to the work that is
// left of either, so that both stages of many jobs keep pace with each other, and of a stage to the job that has had least of the leaf in
// its life.
//
// A job's reduces begin when its maps have ended, as in the text: only then are they part of the work that is left. Before the first job
// gets there, all containers are the maps'. The share of the maps follows the work that is left (θ), but for sudden changes: when the job
// that ends its maps first is nearly there, FRESH predicts what the work will be then, and goes by that where the difference is large
// (algorithm 3.3.3).
//
// Only requests count: a job that has yet to ask for its reduces has none. The text admits k jobs at a time, and so determines which one
// begins its maps next (J_b). Here the queue's limits on ApplicationMasters admit jobs, and all maps of an admitted job count at once. Jobs
// that still wait for admission don't count, so w_m(b) is 0.
//
// If no job waits for the share of one stage, the other stage takes the containers.
//
// Not in the paper: containers differ in size, so that slots are shares of the leaf (package stages). And a turn leaves no container free that
// the other stage could take: where there has been room for it for three seconds, and nothing was taken meanwhile, the stage whose turn it is
// loses that until it takes something. Its requests may be too large, or above a limit. Package leaf bounds the rest.
//
// Reduces whose job has maps left wait even where room is free. They could only fetch, and hold what the next job's maps need: with room that isn't
// taken for three seconds they made set A, one job at a time in each stage, take 23 % longer than without (sim study fresh). Only at the end of the
// maps they begin in such room, early enough that their containers have started by then (stages.Book.Early).
package fresh
