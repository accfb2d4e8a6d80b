// Package slowstart has the rules by which the reduces of a job begin: when a fraction of its maps is done, or as late as their
// shuffle allows (OMO's lazy start). They are stage.Starters, pure and quick: asked at every step of a job.
package slowstart
