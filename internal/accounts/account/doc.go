// Package account implements the operations on accounts: sign up and in, create, change,
// rotate and revoke API keys, add a billing card, choose a plan. Every rule
// about them is here, above the stores, and every change leaves a line in the
// audit log in the same transaction. The command line and the dashboard both use
// it; requests to the service never do (see internal/accounts/auth).
//
// Each method that names a key takes the account too. What belongs to another
// account is NotFound, exactly like what doesn't exist.
package account
