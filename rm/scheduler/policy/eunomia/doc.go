// Package eunomia has leaf policies that are fair by what applications can make of their containers.
//
// Eunomia (seed 000, chapter 5) orders applications by their progress share: the speed of all their tasks, as a part of the speed that they
// would have alone on the whole cluster without constraints (equation 5.1). A task on a fast node counts for more than one on a slow node.
// An application that restricts itself to fast nodes gains nothing, because the denominator ignores constraints.
//
// TSF (task share fairness) is Eunomia without speeds. Choosy (constrained max-min fairness) counts what applications hold, and not what
// they could hold alone. Both are here to compare with.
package eunomia
