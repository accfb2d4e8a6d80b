// Package history serves the history of use that the ledger keeps: over time, and summed up by day for accounting. Both come in JSON, XML and CSV.
package history
