// Package divider divides slots among jobs that speculate: algorithms 1 to 4 of Hopper (Ren, Speculation-aware Resource Allocation for
// Cluster Schedulers, 2015, seed 002). It is pure, and allocates nothing once its scratch has grown.
//
// The durations of a job's tasks are Pareto distributed with a shape β between 1 and 2. A job with T tasks that haven't ended gets on best
// with 2/β copies of each, its virtual size V = (2/β)·T (equation 3.5). In a DAG a job whose next phase has much to read counts for more:
// V = (2/β)·T·√α.
//
// # Where this isn't what the text prints
//
// Algorithm 2 bounds m2 from 1. With that it isn't optimal where no job is below the floor; here m2 begins at 0.
//
// Algorithm 3 serves the job with the least weight among the first k last. With equal weights that is the first job, so that algorithm 3
// contradicts guideline 1. Here it is the last one with the least weight among the first k+1, and only if another one has more.
//
// Algorithm 4 has two classes of β, and refers to an algorithm that isn't there for the division within a class: that is algorithm 1, or 3 if
// weights differ. More classes follow from the same optimum: classes get slots by ascending β, each as many as bring its gain down to that
// of the last class that gets anything.
//
// The text has no algorithm for floors together with DAGs or classes. Here floors are a projection, as in section 3.5: jobs with less than
// the floor get the floor, and the others share the rest in the same way. With one class and equal weights that is algorithm 2.
//
// The text gives ⌊S_i⌋ slots. Round gives what that leaves over to those with the largest remainders.
package divider
