// Package hopper is the leaf policy Hopper (Ren, seed 002): it divides a leaf among applications by virtual sizes, which have room for copies of
// slow tasks (package divider).
//
// The applications of a leaf that have begun, or ask for more than an ApplicationMaster, are its jobs. Their slots are parts of the leaf: what
// it holds and could get besides, without ApplicationMasters. A container takes the part that it has of the resource of which that is largest.
// The division is made again when jobs come or go, and within 100 ms after anything else has changed.
//
// The next container goes to:
//
//  1. jobs below the floor of their part (ε); a floor below one container is given in time: such a job has its turn once it was owed a container
//     for as long as a task takes;
//  2. of the first k % the job with most tasks that could run next to their input, until all its tasks have begun;
//  3. jobs that have less than their slots, the smallest first;
//  4. the same order beyond their slots: unused slots of others.
//
// A slot that a job can't use yet is kept for its copies while its ApplicationMaster says that it runs copies, and that tasks are too young to
// judge. Then no other gets it but a job below its floor, or a smaller one that has less than its slots. All other slots go to others. Nothing is
// taken back: a job that has slots of others gives them back as its tasks end.
//
// # What is known of a job
//
// T is the number of tasks of the phase that runs which haven't ended. ApplicationMasters of Heddle's library report it. Such a report counts within
// bounds: what the application holds and asks for, at the most, and the part of that with which its virtual size is as large, at the least.
// So an application that makes itself small has slots for no more than it holds and asks for, and others have their floors in any case. For unmodified MapReduce T
// is the maps, and then the reduces, that run or are asked for. For any other application, such as one of Spark, it is its containers, which
// aren't tasks: its virtual size has room for copies that it doesn't make, and these slots go to others.
//
// β is fitted to the times of a user's tasks in the leaf, α comes from counts and reports; see shape.go and weight.go.
//
// # Where this isn't what the text says
//
// The text counts a slot in the mean over resources; here it is the dominant one. S_i caps jobs there and orders them
// here, as no slot is taken back before a task ends. β is the maximum likelihood estimate over the last 200 tasks, from
// 50 on; failed and overtaken tasks count as cut off. For misprints see package divider. Figures 2.1 to 2.3 need six
// slots.
package hopper
