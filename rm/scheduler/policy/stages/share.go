package stages

import "heddle/yarn/records"

// Share returns which part of the leaf an amount is, in its dominant resource: from 0 to 1, and more if the leaf has become smaller. It is 0
// while nothing is known of the leaf's size.
func (b *Book) Share(r *records.Resource) float64 {
	var a amounts
	a.add(r, 1)
	return b.share(&a)
}

func (b *Book) share(a *amounts) (worst float64) {
	for i := range b.types {
		if b.size[i] > 0 {
			worst = max(worst, a[i]/b.size[i])
		}
	}
	return worst
}

// Used returns the share of the leaf that a stage of all jobs holds.
func (b *Book) Used(s Stage) float64 { return b.share(&b.used[s]) }

// Holds returns the share of the leaf that a stage of a job holds, if its containers are all of one size.
func (b *Book) Holds(j *Job, s Stage) float64 {
	return float64(j.Of[s].Running) * b.Share(&j.Of[s].Size)
}

// Released returns the share of the leaf that containers of stages have given back, in all.
func (b *Book) Released() float64 { return b.released }

// Mean returns how long a task of a job takes, in seconds: as those of the job did, else as those of all jobs did in this stage, else as the
// job's other stage did. It is 1 if nothing is known.
func (b *Book) Mean(j *Job, s Stage) float64 {
	for _, t := range [...]*Tally{&j.Of[s], &b.all[s], &j.Of[s.Other()]} {
		if t.Known() {
			return t.Mean()
		}
	}
	return 1
}

// Work returns what a stage of a job has left to do, w'_m or w'_r of FRESH: tasks that haven't ended, times how long one takes and the share of
// the leaf that it holds.
func (b *Book) Work(j *Job, s Stage) float64 {
	t := &j.Of[s]
	return float64(t.Left()) * b.Mean(j, s) * b.Share(&t.Size)
}

// MapsLeft reports whether a job has maps that haven't ended, so that its reduces can't either.
func (j *Job) MapsLeft() bool { return j.Of[Map].Left() > 0 }

// SinceLastMap returns how long ago the last pending map of a job got its container, in seconds.
func (b *Book) SinceLastMap(j *Job) float64 { return float64(max(0, b.Now-j.last)) / 1000 }

// Rate is r_i of FRESH (equation 3.1): what the containers of a job, ended and running, have held by a time, per second of its life. It
// is a share of the leaf.
func (b *Book) Rate(j *Job, now int64) float64 {
	life := float64(now-j.began) / 1000
	if life <= 0 {
		return 0
	}
	var a amounts
	for i := range b.types {
		a[i] = j.finished[i] + max(0, (j.running[i]*float64(now)-j.since[i])/1000)
	}
	return b.share(&a) / life
}
