package sample

// A use is a purpose of randomness at a position. Uses are independent of one another.
type use uint64

const (
	draws     use = iota // the Gumbel noise for drawing tokens and proposals
	verdicts             // whether Rejection accepts a proposal
	residuals            // what Rejection draws in its place
)

// key mixes seed, use and position into one key (SplitMix64), so that neighbouring seeds and
// positions share nothing.
func key(seed uint64, u use, pos int) uint64 {
	z := mix(seed+uint64(u)*0xd1342543de82ef95) + uint64(pos)*0x9e3779b97f4a7c15
	return mix(z)
}

func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
