#pragma once

#include <string>

#include "bridgemark/submission/check_submission.h"

namespace bridgemark {

// What a good submission would add to a board, for people: who and what it is, then a line for each
// pair and training with its seconds and headline scores.
std::string submission_table(const SubmissionCheck& check);

}  // namespace bridgemark
